import { queryParamsOf } from '../../../api/http/openapi.js';
import type { OperationRow } from '../../../api/http/operation-row.js';

/**
 * Returns the query strings in which the examples of an operation's parameters are carried out: the required parameters alone, then each
 * parameter that needs certain values of others, with these values and the required parameters, and last all other parameters together.
 * `liveValues` has the values that replace examples, by the names of parameters.
 */
export function exampleUrlQueriesOf(
  row: OperationRow,
  liveValues: Readonly<Record<string, string | number>>,
): readonly string[] {
  const params = Object.entries(queryParamsOf(row)).filter(
    ([, { example }]) => example !== undefined,
  );
  const queryOf = (
    chosenParams: typeof params,
    moreValues: Readonly<Record<string, string>> = {},
  ): string => {
    const values = chosenParams.map(
      ([name, { example }]) => [name, String(liveValues[name] ?? example)] as const,
    );
    return new URLSearchParams({ ...Object.fromEntries(values), ...moreValues }).toString();
  };
  const requiredParams = params.filter(([, param]) => param.required === true);
  const dependentParams = params.filter(([, param]) => param.with !== undefined);
  const otherParams = params.filter(([, param]) => param.with === undefined);
  const queries = [
    queryOf(requiredParams),
    ...dependentParams.map((one) => queryOf([...requiredParams, one], one[1].with)),
    queryOf(otherParams),
  ];
  return [...new Set(queries)];
}
