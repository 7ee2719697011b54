"""The package under test, whichever of the two it is, and what the scripts need of it."""
import contextlib
import importlib
import io
import os
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

#: Name of the package: `solvebio` or `quartzbio`.
NAME = os.environ['STRANDLAKE_CLIENT']
package = importlib.import_module(NAME)

#: The packages name a few things after themselves.
_test_case, _client, _error = {
    'solvebio': ('SolveBioTestCase', 'SolveClient', 'SolveError'),
    'quartzbio': ('QuartzBioTestCase', 'QuartzBioClient', 'QuartzBioError'),
}[NAME]
Client = getattr(package, _client)
ServerError = getattr(package, _error)

HOST = os.environ['STRANDLAKE_URL']
TOKEN = os.environ['STRANDLAKE_TOKEN']

# Both packages wait for seconds between two looks at a task.
_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(seconds, 0.1))


def client(token=TOKEN):
    """A client of the server under test, as the user who owns the public vault or another one."""
    return Client(host=HOST, token=token)


def paths_of_own_tests():
    """Where the package's own tests look for public datasets and a file."""
    helper = getattr(importlib.import_module(NAME + '.test.helper'), _test_case)
    return {'genes': helper.TEST_DATASET_FULL_PATH,
            'variants': helper.TEST_DATASET_FULL_PATH_2,
            'file': helper.TEST_FILE_FULL_PATH}


def command(*arguments, stdin='', **environment):
    """Runs the package's command line; returns its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, '-c', 'from %s.cli.main import main; main()' % NAME, *arguments], input=stdin, text=True, cwd=tempfile.gettempdir(),
        env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def rows(records):
    """Records without the fields that the server gives them."""
    return [{name: value for name, value in record.items() if name not in ('_id', '_commit')}
            for record in records]


class Case(unittest.TestCase):
    """Tests of one theme: a client, a folder of their own in the personal vault, and a local folder."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.api = client()
        cls.folder = '~/%s-%s' % (cls.__name__, uuid.uuid4())
        cls.api.Object.get_or_create_by_full_path(cls.folder, object_type='folder')
        local = tempfile.TemporaryDirectory()
        cls.addClassCleanup(local.cleanup)
        cls.local = local.name

    def run(self, result=None):
        # The packages print what they do.
        with contextlib.redirect_stdout(io.StringIO()) as self.printed:
            return super().run(result)

    def path(self, name):
        return '%s/%s' % (self.folder, name)

    def write(self, name, text):
        """A local file; returns its path."""
        path = os.path.join(self.local, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w' if isinstance(text, str) else 'wb') as file:
            file.write(text)
        return path

    def upload(self, name, text):
        """A file in the folder of these tests."""
        vault = self.api.Vault.get_personal_vault()
        return self.api.Object.upload_file(self.write(name, text), self.folder[1:], vault.full_path)

    def filled(self, name, records=(), **given):
        """A dataset with records."""
        dataset = self.api.Dataset.get_or_create_by_full_path(self.path(name), **given)
        if records:
            self.imported(dataset, records=list(records))
        return dataset

    def imported(self, dataset, **given):
        """An import that is over, and has not failed."""
        task = self.api.DatasetImport.create(dataset_id=dataset.id, **given)
        task.follow()
        self.assertEqual(task.status, 'completed', task.error_message)
        return task

    def refused(self, status, call, *arguments, **given):
        """The error by which the server refuses a call."""
        with self.assertRaises(ServerError) as caught:
            call(*arguments, **given)
        self.assertEqual(caught.exception.status_code, status, caught.exception)
        return str(caught.exception)
