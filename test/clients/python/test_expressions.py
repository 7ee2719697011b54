"""Expressions: the results of every type, and every documented function with the parameters that it is documented with."""
import contextlib
import io

from case import Case

RECORDS = [{'gene': 'BRCA2', 'n': 1, 'sample': 's1'}, {'gene': 'BRCA2', 'n': 2, 'sample': 's2'},
           {'gene': 'TP53', 'n': 6, 'sample': 's1'}]
FIELDS = [{'name': 'gene', 'data_type': 'string', 'entity_type': 'gene'},
          {'name': 'sample', 'data_type': 'string', 'entity_type': 'sample'}]


class Types(Case):

    def test_values_that_are_empty(self):
        """What each empty value becomes as a text, as a number and as a boolean: alone, and as a list."""
        for text, types, single_value, list_value in (
                ('""', 'string text', '', ['']), ('[""]', 'string text', '', ['']), ('None', 'string text', None, [None]),
                ('[None]', 'string text', None, [None]), ('[]', 'string text', None, []),
                ('""', 'integer float', None, [None]), ('[""]', 'integer float', None, [None]),
                ('None', 'integer float', None, [None]), ('[None]', 'integer float', None, [None]),
                ('[]', 'integer float', None, []), ('""', 'boolean', False, [False]), ('[""]', 'boolean', False, [False]),
                ('[None]', 'boolean', None, [None]), ('[]', 'boolean', None, []),
                # JSON has no infinity.
                ('float("inf")', 'float', 'Infinity', ['Infinity']), ('float("-inf")', 'float', '-Infinity', ['-Infinity']),
                ('float("NaN")', 'float', None, [None])):
            for data_type in types.split():
                for is_list, expected in ((False, single_value), (True, list_value)):
                    with self.subTest(text=text, data_type=data_type, is_list=is_list):
                        value = self.api.Expression(text).evaluate(data_type=data_type, is_list=is_list)
                        self.assertEqual(value, expected)

    def test_none_as_a_boolean(self):
        self.assertIs(self.api.Expression('None').evaluate(data_type='boolean'), False)


class Evaluation(Case):

    def test_with_and_without_data(self):
        E = self.api.Expression
        for text, parameters, expected in (
                ('1 + (2 * 3)', {'data_type': 'integer'}, 7),
                ('"hello" + " " + "world"', {'data_type': 'string', 'is_list': False}, 'hello world'),
                ('"hello" + " " + my_field', {'data': {'my_field': 'world'}}, 'hello world'),
                ('record["a"] + " world"', {'data': {'record': {'a': 'hello'}}}, 'hello world'),
                ('sum(i for i in range(100))', {'data_type': 'integer'}, 4950)):
            self.assertEqual(E(text).evaluate(**parameters), expected, text)
        self.assertIn('Syntax', self.expect_refusal(400, E('1 +').evaluate))


class Functions(Case):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.redirect_stdout(io.StringIO()):
            cls.dataset = cls('test_of_datasets').create_dataset('functions', RECORDS, fields=FIELDS)
        cls.template = cls.api.DatasetTemplate.create(
            name='functions', fields=[{'name': 'twice', 'expression': 'record.n * 2', 'data_type': 'integer'}])

    def check(self, data_type, *cases):
        for text, expected in cases:
            with self.subTest(text=text):
                is_list = isinstance(expected, list)
                self.assertEqual(self.api.Expression(text).evaluate(data_type=data_type, is_list=is_list), expected)

    def test_of_texts(self):
        self.check(
            'auto', ('concat(["a", "b"], delimiter="-")', 'a-b'), ('coerce_list("a")', ['a']), ('coerce_list(None)', []),
            ('split("a | b", delimiter="|", strip=True)', ['a', 'b']), ('split("a1b", regex="[0-9]")', ['a', 'b']),
            ('findall("[A-Z]", "aXbY", regex_ignorecase=False)', ['X', 'Y']), ('search("x", "AXB", regex_ignorecase=True)', True),
            ('search_groups("(a)(b)", "ab")', ['a', 'b']), ('sub("a", "o", "banana", count=2)', 'bonona'),
            ('get({"a": {"b": 1}}, "a.b")', 1), ('get({}, "a.b", default=2)', 2))

    def test_of_dates(self):
        self.check('auto', ('datetime_format("2020-01-02", input_format="%Y-%m-%d", output_format="%d.%m.%Y")', '02.01.2020'))
        for text in ('now(timezone="UTC", template="%Y")', 'today(timezone="EST", template="%Y")'):
            self.assertRegex(self.api.Expression(text).evaluate(), '^20[0-9]{2}$')

    def test_of_records(self):
        self.check(
            'object', ('melt({"a": 1, "b": 2, "c": 3}, fields=["a", "b"], key_field="k", value_field="v")',
                       [{'c': 3, 'k': 'a', 'v': 1}, {'c': 3, 'k': 'b', 'v': 2}]),
            ('explode({"a": [1, 2], "b": 3}, fields=["a"])', [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]),
            ('annotate({"n": 2}, %d)' % self.template.id, {'n': 2, 'twice': 4}))
        self.check('auto', ('tabulate([{"a": 1, "b": 2}], fields=["a"], header=True)[1]', [1]))

    def test_of_datasets(self):
        path = self.dataset.vault_object.full_path
        self.check('integer', ('dataset_count("%s", entities=[("gene", "BRCA2")])' % path, 2),
                   ('dataset_count("%s", filters=[("n__gt", 1)], query="gene:TP53")' % path, 1),
                   ('dataset_field_terms_count("%s", "gene")' % path, 2),
                   ('beacon("BRCA2", entity_type="gene", datasets=["%s"])["found_count"]' % path, 1))
        self.check('auto', ('dataset_entity_top_terms("%s", "gene")' % path, ['BRCA2', 'TP53']),
                   ('dataset_field_values("%s", "n", limit=1)' % path, [1]))
        self.check('object', ('dataset_field_top_terms("%s", "gene", limit=1)' % path, [{'term': 'BRCA2', 'count': 2}]),
                   ('dataset_query("%s", fields=["n"], filters=[("gene", "TP53")])' % path, [{'n': 6}]))
        self.check('double', ('dataset_field_stats("%s", "n")["avg"]' % path, 3),
                   ('prevalence("%s", ("gene", "TP53"), "sample")' % path, 0.5),
                   ('sorted(dataset_field_percentiles("%s", "n", percents=[50]).values())[0]' % path, 2))

    def test_of_entities(self):
        self.check('string', ('entity_ids("gene", "BRCA2")', ['BRCA2']), ('normalize_aa_change("V600E")', 'p.Val600Glu'),
                   ('normalize_variant("GRCH38-13-32338647-32338647-T")', 'GRCH38-13-32338647-32338647-T'))

    def test_of_reference_genomes(self):
        """They say what they need, which no server has by itself."""
        for text in ('crossmap("GRCH38-13-32338647-32338647-T", "GRCH37")', 'genomic_sequence("GRCh37-5-36241400-36241700")',
                     'predict_variant_effects("GRCH38-7-117559590-117559593-A", default_transcript=True)',
                     'translate_variant("GRCH38-7-117559590-117559593-A", gene_model="ensembl", include_effects=True)'):
            self.assertIn('No reference data', self.expect_refusal(400, self.api.Expression(text).evaluate))
