"""
Runs test modules, each test with the package that STRANDLAKE_CLIENT names, and prints a line of JSON for each: its
name, its outcome (`passed`, `failed` or `skipped`), and the last lines of its error.
"""
import json
import sys
import unittest


class Lines(unittest.TestResult):
    """Prints the outcome of each test when it is known."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def line(self, test, outcome, message=''):
        self.output.write(json.dumps({'test': test.id(), 'outcome': outcome, 'message': message}) + '\n')
        self.output.flush()

    def addSuccess(self, test):
        self.line(test, 'passed')

    def addSkip(self, test, reason):
        self.line(test, 'skipped', reason)

    def addError(self, test, err):
        self.line(test, 'failed', self._exc_info_to_string(err, test).strip()[-1500:])

    addFailure = addError

    def startTest(self, test):
        super().startTest(test)
        self.subtests = []

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.subtests.append('%s: %s' % (subtest, self._exc_info_to_string(err, test).strip()[-300:]))

    def stopTest(self, test):
        super().stopTest(test)
        if self.subtests:
            self.line(test, 'failed', '\n'.join(self.subtests))

    def addExpectedFailure(self, test, err):
        self.line(test, 'passed')

    def addUnexpectedSuccess(self, test):
        self.line(test, 'failed', 'it was expected to fail')


def main(modules):
    unittest.defaultTestLoader.loadTestsFromNames(modules).run(Lines(sys.stdout))


if __name__ == '__main__':
    main(sys.argv[1:])
