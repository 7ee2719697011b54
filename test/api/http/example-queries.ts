import { queryParamsOf } from '../../../api/http/openapi.js';
import type { OperationRow } from '../../../api/http/operation-row.js';

/**
 * Returns the query strings in which the examples of an operation's parameters are carried out: the required parameters alone, then each
 * parameter that needs certain values of others with these, and last all other parameters together. `live` has the values that replace
 * examples, by the names of parameters.
 */
export function exampleUrlQueriesOf(
  row: OperationRow,
  live: Readonly<Record<string, string | number>>,
): readonly string[] {
  const params = Object.entries(queryParamsOf(row)).filter(
    ([, { example }]) => example !== undefined,
  );
  const queryOf = (chosen: typeof params, more: Readonly<Record<string, string>> = {}): string => {
    const values = chosen.map(
      ([name, { example }]) => [name, String(live[name] ?? example)] as const,
    );
    return new URLSearchParams({ ...Object.fromEntries(values), ...more }).toString();
  };
  const required = params.filter(([, param]) => param.required === true);
  const dependent = params.filter(([, param]) => param.with !== undefined);
  const others = params.filter(([, param]) => param.with === undefined);
  const queries = [
    queryOf(required),
    ...dependent.map((one) => queryOf([...required, one], one[1].with)),
    queryOf(others),
  ];
  return [...new Set(queries)];
}
