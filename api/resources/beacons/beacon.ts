import type { BeaconSetRow } from '../../../engine/catalog/beacon-sets.js';
import type { BeaconRow } from '../../../engine/catalog/beacons.js';
import { isObject } from '../../http/form.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  filledText,
  id,
  integer,
  nullable,
  withReader,
  reference,
  text,
  type ValueType,
} from '../../http/json-schema.js';
import {
  timestampFields,
  descriptionField,
  ownerFields,
  sharedField,
  type WithUser,
} from '../shared/common-fields.js';

/** The data that the view of a beacon set shows and its row does not have. */
export interface BeaconSetContext extends WithUser {
  readonly beaconsCount: number;
  readonly origin: string;
}

/** A beacon set (contract 14.1). */
export const beaconSet = declareResource<BeaconSetRow, BeaconSetContext>({
  name: 'BeaconSet',
  description: 'A beacon set: datasets that are queried for an entity together.',
  fields: {
    class_name: constantField('BeaconSet'),
    id: { type: id, example: 21 },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/beacon_sets/21',
      show: (row, { origin }) => `${origin}/v2/beacon_sets/${row.id}`,
    },
    title: {
      type: filledText,
      example: 'Cardiology cohorts',
      create: 'required',
      update: true,
    },
    description: { ...descriptionField, initial: null, example: 'All cohorts since 2021.' },
    is_shared: sharedField,
    is_public: constantField(false),
    beacons_count: { type: integer, example: 3, show: (_, { beaconsCount }) => beaconsCount },
    query_url: {
      type: text,
      example: 'http://localhost:7878/v2/beacon_sets/21/query',
      show: (row, { origin }) => `${origin}/v2/beacon_sets/${row.id}/query`,
    },
    ...ownerFields,
    ...timestampFields,
  },
});

const filtersOrConditions: ValueType = {
  schema: { anyOf: [{ type: ['array', 'null'] }, reference('Conditions').schema] },
};

/** The data that the view of a beacon shows and its row does not have. */
export interface BeaconContext {
  /** The vault of the beacon's dataset; null once the dataset has been deleted. */
  readonly vaultId: number | null;
  readonly origin: string;
}

/** A beacon (contract 14.2). */
export const beacon = declareResource<BeaconRow, BeaconContext>({
  name: 'Beacon',
  description: 'A beacon: a dataset of a beacon set.',
  fields: {
    class_name: constantField('Beacon'),
    id: { type: id, example: 64 },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/beacons/64',
      show: (row, { origin }) => `${origin}/v2/beacons/${row.id}`,
    },
    beacon_set_id: {
      type: id,
      lookup: true,
      description: 'One of your own beacon sets.',
      example: 21,
      create: 'required',
      update: true,
    },
    title: { type: filledText, example: 'Cohort 2024', create: 'required', update: true },
    description: { ...descriptionField, initial: null, example: 'Exomes of 2024.' },
    vault_object_id: {
      type: id,
      lookup: true,
      property: 'datasetId',
      description: 'The dataset.',
      example: 4812,
      create: 'required',
      update: true,
    },
    vault_id: { type: nullable(id), example: 12, show: (_, { vaultId }) => vaultId },
    params: {
      type: withReader(filtersOrConditions, (form, key) => {
        const params = form.raw(key);
        if (params === undefined || Array.isArray(params) || isObject(params)) return params;
        return form.fail(key, 'Must be a list of filters or an object.');
      }),
      answerType: { schema: { type: ['array', 'object', 'null'] } },
      description:
        'Restricts the records that are queried: a list of filters, or an object of filters, query and genome_build.',
      example: [['clinical_significance', 'Pathogenic']],
      create: 'optional',
      initial: null,
      update: true,
    },
    query_url: {
      type: text,
      example: 'http://localhost:7878/v2/beacons/64/query',
      show: (row, { origin }) => `${origin}/v2/beacons/${row.id}/query`,
    },
    user_id: ownerFields.user_id,
    account_id: ownerFields.account_id,
    ...timestampFields,
  },
});
