import type { SavedQueryRow } from '../../../engine/catalog/saved-queries.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  filledText,
  id,
  jsonObject,
  nullable,
  reference,
  strings,
  text,
} from '../../http/json-schema.js';
import {
  timestampFields,
  descriptionField,
  ownerFields,
  sharedField,
  type WithUser,
} from '../shared/common-fields.js';
import { fieldNamesOfQuery } from './fields-named.js';

/** The data that the view of a saved query shows and its row does not have. */
export interface SavedQueryContext extends WithUser {
  readonly origin: string;
}

/** A saved query (contract 17). */
export const savedQuery = declareResource<SavedQueryRow, SavedQueryContext>({
  name: 'SavedQuery',
  description: 'A saved query: the parameters of a query under a name.',
  fields: {
    class_name: constantField('SavedQuery'),
    id: { type: id, example: 7 },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/saved_queries/7',
      show: (row, { origin }) => `${origin}/v2/saved_queries/${row.id}`,
    },
    name: {
      type: filledText,
      example: 'Pathogenic variants in sarcomere genes',
      create: 'required',
      update: true,
    },
    description: { ...descriptionField, initial: null, example: 'MYH7 and MYBPC3, ClinVar.' },
    params: {
      type: { ...jsonObject, schema: reference('Query').schema },
      answerType: jsonObject,
      description:
        'A query: filters, query, fields, entities, ordering …; answered as it was sent.',
      example: { filters: [['gene__in', ['MYH7', 'MYBPC3']]], fields: ['gene', 'variant'] },
      create: 'optional',
      initial: {},
      update: true,
    },
    fields: {
      type: strings,
      description: 'The fields that the parameters name.',
      example: ['gene', 'variant'],
      show: ({ params }) => fieldNamesOfQuery(params),
    },
    is_shared: sharedField,
    dataset: {
      type: { schema: { type: ['integer', 'string', 'null'] } },
      lookup: true,
      property: 'datasetId',
      description:
        'Id of the dataset that the parameters were checked with; a request may give its full path.',
      example: 4812,
      create: 'optional',
      update: true,
    },
    dataset_id: { type: nullable(id), example: 4812 },
    ...ownerFields,
    ...timestampFields,
  },
});
