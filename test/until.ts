/**
 * Resolves with the first result of `check` that is neither false nor undefined. Calls `check` every few milliseconds, without a time
 * limit.
 */
export async function pollUntil<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found as T;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
