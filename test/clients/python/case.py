"""The package under test, one of two, and the helpers of the tests."""
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

# Both packages wait for seconds before they ask for the status of a task again.
_sleep = time.sleep
time.sleep = lambda seconds: _sleep(min(seconds, 0.1))


def client(token=TOKEN):
    """Returns a client of the server under test; by default, its user is the owner of the public vault."""
    return Client(host=HOST, token=token)


def paths_of_own_tests():
    """Returns the paths at which the package's own tests expect public datasets and a file."""
    helper = getattr(importlib.import_module(NAME + '.test.helper'), _test_case)
    return {'genes': helper.TEST_DATASET_FULL_PATH,
            'variants': helper.TEST_DATASET_FULL_PATH_2,
            'file': helper.TEST_FILE_FULL_PATH}


def run_client(*arguments, stdin='', **environment):
    """Runs the command line of the package; returns its exit code and what it has printed."""
    process = subprocess.run(
        [sys.executable, '-c', 'from %s.cli.main import main; main()' % NAME, *arguments], input=stdin, text=True, cwd=tempfile.gettempdir(),
        env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return process.returncode, process.stdout


def without_reserved_fields(records):
    """Returns records without the fields that the server adds."""
    return [{name: value for name, value in record.items() if name not in ('_id', '_commit')}
            for record in records]


class Case(unittest.TestCase):
    """Tests of one subject, with a client, a folder of their own in the personal vault, and a local folder."""

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
        """Writes a local file; returns its path."""
        path = os.path.join(self.local, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w' if isinstance(text, str) else 'wb') as file:
            file.write(text)
        return path

    def upload(self, name, text):
        """Uploads a file to the folder of these tests; returns its object."""
        vault = self.api.Vault.get_personal_vault()
        return self.api.Object.upload_file(self.write(name, text), self.folder[1:], vault.full_path)

    def create_dataset(self, name, records=(), **parameters):
        """Creates a dataset in the folder of these tests, with records; returns it."""
        dataset = self.api.Dataset.get_or_create_by_full_path(self.path(name), **parameters)
        if records:
            self.run_import(dataset, records=list(records))
        return dataset

    def run_import(self, dataset, **parameters):
        """Runs an import, and expects that it completes; returns its task."""
        task = self.api.DatasetImport.create(dataset_id=dataset.id, **parameters)
        task.follow()
        self.assertEqual(task.status, 'completed', task.error_message)
        return task

    def expect_refusal(self, status, call, *arguments, **parameters):
        """Expects that the server refuses a call with a status; returns the text of the error."""
        with self.assertRaises(ServerError) as caught:
            call(*arguments, **parameters)
        self.assertEqual(caught.exception.status_code, status, caught.exception)
        return str(caught.exception)
