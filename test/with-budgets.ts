import { budgets } from '../engine/core/budgets.js';

/** Runs `work` while some budgets have other values. */
export async function withChangedBudgets(
  values: Partial<Record<keyof typeof budgets, number>>,
  work: () => Promise<void>,
): Promise<void> {
  // prettier-ignore
  const budgetsBefore = { ...budgets };
  Object.assign(budgets, values);
  try {
    await work();
  } finally {
    Object.assign(budgets, budgetsBefore);
  }
}
