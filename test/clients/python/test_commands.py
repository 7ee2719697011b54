"""The command line."""
import json
import os

from case import Case, run_client


class Commands(Case):

    def run_command(self, *arguments, stdin=''):
        code, text = run_client(*arguments, stdin=stdin)
        self.assertEqual(code, 0, text)
        self.assertNotIn('Traceback', text)
        return text

    def test_create_dataset(self):
        self.run_command('create-dataset', self.path('made'), '--capacity', 'small', '--tag', 'a', '--metadata', 'K=V')
        dataset = self.api.Object.get_by_full_path(self.path('made'))
        self.assertEqual([list(dataset.tags), dict(dataset.metadata)], [['a'], {'K': 'V'}])

    def test_import(self):
        records = self.write('records.json', '{"gene": "BRCA1"}\n{"gene": "TP53"}\n')
        template = self.write('template.json', json.dumps({
            'name': 'A template', 'fields': [{'name': 'gene', 'entity_type': 'gene', 'data_type': 'string'}]}))
        self.run_command('import', '--create-dataset', '--template-file', template, '--commit-mode', 'append', '--follow',
                 self.path('imported'), records)
        dataset = self.api.Dataset.get_by_full_path(self.path('imported'))
        self.assertEqual([dataset.query().count(), dataset.fields('gene').entity_type], [2, 'gene'])
        self.upload('remote.json', '{"gene": "MTOR"}\n')
        self.run_command('import', '--follow', '--remote-source', self.path('imported'), self.path('remote.json'))
        dataset.activity(follow=True)
        self.assertEqual(dataset.query().count(), 3)

    def test_upload_list_and_download(self):
        for name in ('up/a.csv', 'up/b.txt', 'up/more/c.csv'):
            self.write(name, name)
        target = self.path('some/where')
        self.run_command('upload', '--full-path', target, '--create-full-path', '--exclude', '*.txt', os.path.join(self.local, 'up'))
        listing = self.run_command('ls', target + '/up/*')
        self.assertIn('a.csv', listing)
        self.assertNotIn('b.txt', listing)
        self.assertIn('c.csv', self.run_command('ls', '--recursive', target + '/*'))
        download_folder = os.path.join(self.local, 'down')
        os.mkdir(download_folder)
        self.run_command('download', target + '/up/a.csv', download_folder)
        self.assertEqual(os.listdir(download_folder), ['a.csv'])
        self.run_command('download', target + '/up/*.csv', download_folder)
        everything = os.path.join(self.local, 'everything')
        os.mkdir(everything)
        self.run_command('download', '--recursive', target, everything)
        names = sorted(name for _, _, file_names in os.walk(everything) for name in file_names)
        self.assertEqual(names, ['a.csv', 'c.csv'])
        self.run_command('download', '--recursive', target, everything, '--exclude', '*', '--include', '*.pdf', '--delete', '--dry-run')

    def test_uploads_in_parallel_and_again(self):
        for number in range(4):
            self.write('many/%d.txt' % number, str(number))
        for _ in range(2):
            self.run_command('upload', '--full-path', self.folder, '--num-processes', '2', os.path.join(self.local, 'many'))
        many = self.api.Object.get_by_full_path(self.path('many'))
        self.assertEqual(len(list(many.files())), 4)

    def test_tags(self):
        self.upload('tagged.txt', 'x')
        self.run_command('tag', '--no-input', '--tag', 'one', '--tag', 'two', self.path('tagged.txt'))
        self.run_command('tag', '--no-input', '--remove', '--tag', 'one', self.path('tagged.txt'))
        self.assertEqual(list(self.api.Object.get_by_full_path(self.path('tagged.txt')).tags), ['two'])

    def test_queue(self):
        self.run_command('queue')
