/** Parses tags, one per line: `team=vision`. */

export type Tags = Readonly<Record<string, string>>;

export function tagLines(tags: Tags): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}

export function parseTags(text: string): { readonly tags: Tags } | { readonly problem: string } {
  const tags: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const words = line.trim();
    if (words === '') continue;
    const at = words.indexOf('=');
    if (at < 1) return { problem: `“${words}” is not a valid tag. Enter one name=value per line.` };
    const name = words.slice(0, at).trim();
    if (Object.hasOwn(tags, name)) return { problem: `“${name}” appears twice.` };
    tags[name] = words.slice(at + 1).trim();
  }
  return { tags };
}
