import { stringifyJson } from '../../core/json.js';
import { parseEntities, type EntityNames } from './entities.js';
import type { FieldIndex } from './field-index.js';
import { isPair, parseFilters, type FilterRules } from './filter.js';
import {
  newExplainGroup,
  type ExplainGroup,
  type ExplainNode,
  type ExplainSource,
} from './condition-node.js';
import { queryNode } from './query-nodes.js';
import type { Predicate } from '../predicate/predicate.js';

/** The context for parsing one condition of the request a second time. */
export interface ExplainContext {
  readonly index: FieldIndex;
  readonly names: EntityNames;
  readonly rules: FilterRules | undefined;
}

/** The parts of a parsed request that `explain` needs. */
export interface ExplainedRequest extends ExplainContext {
  readonly root: ExplainGroup;
  /** Time in milliseconds that parsing the request took. */
  readonly parseMs: number;
}

/** The parts of a validated request that are conditions. */
interface RequestConditions {
  readonly filters: unknown;
  readonly query: unknown;
  readonly entities: unknown;
  readonly build: { readonly value: string; readonly predicate: Predicate } | null;
}

/** Returns the tree of a request's conditions: filters, query string, entities and genome build, in this order, joined by AND. */
export function explainTree(conditions: RequestConditions, context: ExplainContext): ExplainGroup {
  const nodes: ExplainNode[] = [];
  const { filters, query, entities, build } = conditions;
  if (filters !== null && filters !== undefined)
    nodes.push(...filterNodes(filters, 'filters', context));
  if (typeof query === 'string' && query.trim() !== '')
    nodes.push(queryNode(query, 'query', context.index));
  if (entities !== null && entities !== undefined && entities !== '')
    nodes.push(...entityNodes(entities, context));
  if (build)
    nodes.push({
      kind: 'condition',
      path: 'genome_build',
      text: build.value,
      predicate: build.predicate,
      source: { kind: 'build', value: build.value },
    });
  return newExplainGroup('and', '', nodes);
}

function filterNodes(input: unknown, path: string, context: ExplainContext): ExplainNode[] {
  if (isPair(input) || !Array.isArray(input)) return [filterNode(input, path, context)];
  return input.map((member, index) => filterNode(member, `${path}[${index}]`, context));
}

/** Returns the node of one filter. The input has been validated, so the type assertions hold. */
function filterNode(input: unknown, path: string, context: ExplainContext): ExplainNode {
  const leaf = (source: ExplainSource): ExplainNode => ({
    kind: 'condition',
    path,
    text: truncatedJson(input),
    predicate: parseFilters([input], context.index, context.rules),
    source,
  });
  if (isPair(input)) return leaf({ kind: 'filter', key: input[0], value: input[1] });
  const [operator, operand] = Object.entries(input as object)[0] as [string, unknown];
  if (operator.toLowerCase() === 'any') return leaf({ kind: 'element' });
  const kind = operator.toLowerCase() as ExplainGroup['kind'];
  return newExplainGroup(kind, path, filterNodes(operand, `${path}.${operator}`, context));
}

/** Returns the nodes of the entity pairs (type and value): pairs of the same type are joined by OR. */
function entityNodes(input: unknown, { index, names }: ExplainContext): ExplainNode[] {
  const pairs = isPair(input) ? [input] : (input as readonly [string, unknown][]);
  const byType = new Map<string, ExplainNode[]>();
  for (const [i, pair] of pairs.entries()) {
    const type = pair[0].toLowerCase();
    const nodes = byType.get(type) ?? [];
    byType.set(type, nodes);
    nodes.push({
      kind: 'condition',
      path: `entities[${i}]`,
      text: truncatedJson(pair),
      predicate: parseEntities([pair], index, names),
      source: { kind: 'entity', type, value: pair[1] },
    });
  }
  return [...byType.values()].map((nodes) =>
    nodes.length === 1 ? nodes[0]! : newExplainGroup('or', 'entities', nodes),
  );
}

const maxTextLength = 300;
const maxListLength = 10;

/** Returns a part of the request as JSON, cut after 300 characters; of lists outside objects, it has the first 10 members. */
export function truncatedJson(value: unknown): string {
  const text = stringifyJson(truncateValue(value));
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength).toWellFormed()}…` : text;
}

function truncateValue(value: unknown): unknown {
  if (typeof value === 'string' && value.length > maxTextLength)
    return `${value.slice(0, maxTextLength).toWellFormed()}…`;
  if (!Array.isArray(value)) return value;
  const list = value as readonly unknown[];
  if (list.length <= maxListLength) return list.map(truncateValue);
  return [
    ...list.slice(0, maxListLength).map(truncateValue),
    `… ${list.length - maxListLength} more`,
  ];
}
