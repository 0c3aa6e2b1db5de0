import { Resolver, type LookupAddress } from 'node:dns';
import type { guardedLookup } from '@millrace/platform/net';

type Resolve = NonNullable<Parameters<typeof guardedLookup>[1]>;

const QUERY_TIMEOUT_MS = 2_000;
const QUERY_TRIES = 2;

/**
 * Queries name servers directly. The system's look-up runs on a few threads that the process shares, so slow names of
 * one tenant would delay all. It also resolves internal names (hosts file, search domains) that tenants must not see.
 */
export function createDnsResolver({ servers }: { readonly servers?: readonly string[] } = {}): Resolve {
  const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return (hostname, _options, callback) => {
    const found: LookupAddress[] = [];
    let waiting = 2;
    const take =
      (family: 4 | 6) =>
      (error: NodeJS.ErrnoException | null, addresses: readonly string[] | undefined): void => {
        if (error === null) found.push(...(addresses ?? []).map((address) => ({ address, family })));
        waiting -= 1;
        if (waiting > 0) return;
        if (found.length > 0) callback(null, found);
        else
          callback(
            Object.assign(new Error('No name server has an address for this name.'), { code: 'ENOTFOUND' }),
            [],
          );
      };
    resolver.resolve4(hostname, take(4));
    resolver.resolve6(hostname, take(6));
  };
}
