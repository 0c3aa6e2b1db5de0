/** Whether a version such as `2.10.4` is before `2.15`. Unknown versions count as new enough. */
export function isOlder(version: string, oldest: string): boolean {
  const [found, needed] = [version, oldest].map(numbersOf);
  for (const [index, part] of (needed ?? []).entries()) {
    const own = found?.[index] ?? 0;
    if (Number.isNaN(own) || own > part) return false;
    if (own < part) return true;
  }
  return false;
}

/** Without the rest of a name such as `0.3.0-307b39282919`. */
const numbersOf = (version: string): readonly number[] =>
  (version.replace(/^v/, '').split('-', 1)[0] ?? '').split('.').map(Number);
