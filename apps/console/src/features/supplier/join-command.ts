/** The command that lets a host join. It is run as root on the host; the token is in its environment, not in its arguments. */

export interface JoinParams {
  readonly token: string;
  /** Where the marketplace is. */
  readonly url: string;
  /** Where the internet reaches the host; a placeholder while nobody has said. */
  readonly address: string;
}

/** Quoted for a shell, where it has to be. */
function quoteShellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function joinCommand({ token, url, address }: JoinParams): string {
  const host = address.trim() === '' ? 'ADDRESS' : address.trim();
  return `MILLRACE_JOIN_TOKEN=${quoteShellWord(token)} ./join.sh --url ${quoteShellWord(url)} --address ${quoteShellWord(host)}`;
}

/** A name for the cluster that fits the rule, proposed from the organisation's. */
export function suggestedClusterName(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|(?<!-)-+$/g, '')
    .slice(0, 60)
    .replace(/(?<!-)-+$/, '');
  return slug === '' ? 'cluster-1' : `${slug}-1`;
}

/** Why a name of a cluster will not do; false where it will. */
export function clusterNameIssue(name: string): string | false {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return false;
  return 'The cluster needs a name of small letters, digits and inner hyphens.';
}
