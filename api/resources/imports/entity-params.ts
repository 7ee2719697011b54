import type { JsonObject } from '../../../engine/core/types.js';
import { entityTypes } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined } from '../../http/list-query.js';

/** Maximum of `sample_count`. */
const maxSampled = 1_000;

/** Reads `entity_params` of an import or of a manifest's file (specification, "Entity parameters"). */
export function readEntityParams(form: Form, key: string): JsonObject | undefined {
  const params = form.object(key);
  if (params === undefined) return undefined;
  const paramsForm = new Form(params);
  const types = paramsForm.textList('entity_types');
  for (const type of types ?? []) {
    if (entityTypes.some((known) => known === type)) continue;
    const shown = JSON.stringify(type.slice(0, 100));
    paramsForm.fail('entity_types', `${shown} is no entity type; use ${entityTypes.join(', ')}.`);
  }
  const count = paramsForm.integer('sample_count');
  if (count !== undefined && (count < 1 || count > maxSampled)) {
    paramsForm.fail('sample_count', `Must be from 1 to ${maxSampled}.`);
  }
  const rate = paramsForm.raw('sample_rate');
  if (rate !== undefined && !(typeof rate === 'number' && rate > 0 && rate <= 1)) {
    paramsForm.fail('sample_rate', 'Must be a number above 0 and at most 1.');
  }
  const read = omitUndefined<JsonObject>({
    disable: paramsForm.boolean('disable'),
    entity_types: types,
    sample_rate: rate,
    sample_count: count,
    apply_detection: paramsForm.boolean('apply_detection'),
  });
  const isValid = form.absorbInto(key, paramsForm, (name, messages) => `${name}: ${messages}`);
  return isValid ? read : undefined;
}
