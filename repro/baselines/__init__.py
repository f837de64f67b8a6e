"""What GDLNN is compared with: graph networks and their explainers, kernels, fingerprints, majority class.

The classifiers are scikit-learn classifiers over graphs with the interface of `GDLNNClassifier`. PL4XGL is in
`repro.pl4xgl`.
"""
