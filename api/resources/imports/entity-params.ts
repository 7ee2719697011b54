import type { JsonObject } from '../../../engine/core/types.js';
import { entityTypes } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined } from '../shape.js';

/** More different values of each field than this tell no more about it. */
const mostSampled = 1_000;

/** Reads `entity_params` of an import or of a manifest's file (specification, "Entity parameters"). */
export function entityParams(form: Form): JsonObject | undefined {
  const key = 'entity_params';
  const params = form.object(key);
  if (params === undefined) return undefined;
  const own = new Form(params);
  const types = own.textList('entity_types');
  for (const type of types ?? []) {
    if (entityTypes.some((known) => known === type)) continue;
    const shown = JSON.stringify(type.slice(0, 100));
    own.fail('entity_types', `${shown} is no entity type; use ${entityTypes.join(', ')}.`);
  }
  const count = own.integer('sample_count');
  if (count !== undefined && (count < 1 || count > mostSampled)) {
    own.fail('sample_count', `Must be from 1 to ${mostSampled}.`);
  }
  const rate = own.raw('sample_rate');
  if (rate !== undefined && !(typeof rate === 'number' && rate > 0 && rate <= 1)) {
    own.fail('sample_rate', 'Must be a number above 0 and at most 1.');
  }
  const read = omitUndefined<JsonObject>({
    disable: own.boolean('disable'),
    entity_types: types,
    sample_rate: rate,
    sample_count: count,
    apply_detection: own.boolean('apply_detection'),
  });
  return absorbed(form, key, own) ? read : undefined;
}

/** Whether a part of the form is well; what is wrong with it goes to the part's key in the form, with its own name. */
function absorbed(form: Form, key: string, own: Form): boolean {
  try {
    own.done();
    return true;
  } catch (error) {
    const { fields } = error as { fields: Readonly<Record<string, readonly string[]>> };
    for (const [name, messages] of Object.entries(fields))
      form.fail(key, `${name}: ${messages.join(' ')}`);
    return false;
  }
}
