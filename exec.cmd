@rem The scripts of package.json begin with `exec`, so that no shell stands between npm's signals and the program. Windows has none.
@%*
