/**
 * Resolves with the first result of `check` that is neither false nor undefined. Calls `check` every few milliseconds, without a time
 * limit.
 */
export async function pollUntil<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  for (;;) {
    const result = await check();
    if (result !== undefined && result !== false) return result as T;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
