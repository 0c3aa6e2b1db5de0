/** Whether a version such as `2.10.4` is before `2.15`. Unknown versions count as new enough. */
export function isOlder(version: string, oldest: string): boolean {
  const [found, needed] = [version, oldest].map((text) => text.replace(/^v/, '').split('.').map(Number));
  for (const [index, part] of (needed ?? []).entries()) {
    const own = found?.[index] ?? 0;
    if (Number.isNaN(own) || own > part) return false;
    if (own < part) return true;
  }
  return false;
}
