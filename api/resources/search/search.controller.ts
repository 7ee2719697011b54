import { Body, Controller, Req, Res } from '@nestjs/common';
import { Access, CurrentCaller } from '../../http/access-rule.js';
import { Operation } from '../../http/operation.js';
import { AppContext } from '../../http/app-context.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import { answerSearch } from './search-catalog.js';
import { declareOperations } from '../../http/operation-row.js';
import {
  anyType,
  answerSchema,
  bodySchema,
  boolean,
  integer,
  jsonObject,
  jsonObjects,
  nullable,
  enumOf,
} from '../../http/json-schema.js';

const searchBody = bodySchema('Search', 'A search over vaults and objects.', {
  query: { type: anyType, description: 'A query string.', example: 'cardiomyopathy' },
  filters: {
    type: anyType,
    description: 'As in a query of a dataset.',
    example: [['type', 'dataset']],
  },
  ordering: { type: anyType },
  facets: { type: anyType, example: { type: { limit: 5 } } },
  fields: { type: anyType },
  exclude_fields: { type: anyType },
  entities: { type: anyType, description: 'Pairs [entity type, value].' },
  entities_match: {
    type: enumOf('any', 'all'),
    description: 'Whether a dataset must hold all entities or one of them.',
  },
  vault_scope: {
    type: enumOf('all', 'any', 'access'),
    description: 'access: without vaults that are only public.',
    example: 'all',
  },
  limit: { type: integer, description: '0 to 10,000; 100 when absent.', example: 10 },
  offset: { type: integer },
  include_vaults: { type: boolean, example: true },
  include_subjects: { type: boolean },
  include_all_subjects: { type: boolean },
});

const searchAnswerSchema = answerSchema('SearchAnswer', 'A page of vaults and objects.', {
  took: { type: integer, description: 'Milliseconds.', example: 3 },
  total: { type: integer, description: 'Number of documents found.', example: 1 },
  offset: {
    type: nullable(integer),
    description: 'Offset of the next page; null when there is none.',
    example: null,
  },
  results: {
    type: jsonObjects,
    example: [{ id: 4812, type: 'dataset', name: 'variants' }],
  },
  facets: { type: jsonObject, description: 'Only if requested.', example: {}, optional: true },
  vaults: {
    type: jsonObjects,
    description: 'The vaults of everything found, with counts; only if requested.',
    example: [
      {
        id: 12,
        name: 'Cardiomyopathy families',
        full_path: 'acme:Cardiomyopathy families',
        count: 1,
      },
    ],
    optional: true,
  },
  subjects: {
    type: jsonObjects,
    description: 'Samples of the records that hold the entities; only if requested.',
    optional: true,
  },
  subjects_count: { type: integer, example: 0 },
});

export const searchSchemas = [searchBody, searchAnswerSchema];

/** The search operation. */
export const searchOperations = declareOperations('search', 'Search', {
  find: {
    method: 'POST',
    paths: ['/v2/search'],
    summary:
      'Searches the vaults, folders, files and datasets that the user may read, with the filters, query strings, facets and ordering of queries.',
    body: searchBody,
    answer: searchAnswerSchema,
  },
});

/** The search of everything that the caller may read (contract 8.7). */
@Controller()
export class SearchController {
  constructor(private readonly context: AppContext) {}

  @Operation(searchOperations.find)
  @Access('read')
  find(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerSearch(this.context, caller, body, connectionClosedSignal(request, reply));
  }
}
