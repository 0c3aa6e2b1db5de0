/** Builds the join command, which runs as root on the host. The token is in the environment, not in the arguments. */

export interface JoinParams {
  readonly token: string;
  readonly url: string;
  /** Public address of the host; a placeholder until entered. */
  readonly address: string;
}

function quoteShellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function joinCommand({ token, url, address }: JoinParams): string {
  const host = address.trim() === '' ? 'ADDRESS' : address.trim();
  return `MILLRACE_JOIN_TOKEN=${quoteShellWord(token)} ./join.sh --url ${quoteShellWord(url)} --address ${quoteShellWord(host)}`;
}

/** Suggests a valid cluster name from the organisation's name. */
export function suggestedClusterName(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|(?<!-)-+$/g, '')
    .slice(0, 60)
    .replace(/(?<!-)-+$/, '');
  return slug === '' ? 'cluster-1' : `${slug}-1`;
}

/** Validation message for a cluster name; false if valid. */
export function clusterNameIssue(name: string): string | false {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return false;
  return 'Enter a cluster name of lowercase letters, digits and inner hyphens.';
}
