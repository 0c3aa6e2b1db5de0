import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import type { NetGuard } from '@millrace/platform/net';
import { HostAddresses } from './host-addresses.ts';
import { createCaddyAdmin, type CaddyAddress } from './caddy-admin.ts';
import type { CaddySettings, HostnameRoute } from './caddy-config.ts';
import { instanceHostname } from './hostnames.ts';
import { OnlineInstances } from './online-instances.ts';
import { CaddySync } from './caddy-sync.ts';

/** Serves hostnames for the ports of online instances while the process runs. */

export interface HostnamesDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly guard: NetGuard;
  readonly domain: string;
  readonly caddy: Omit<CaddySettings, 'certificateMark'> & { readonly address: CaddyAddress };
}

/** Maximum delay until a name starts or stops working. */
const POLL_EVERY_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
/** SSH is not HTTP, so its port has no hostname. */
const SSH_PORT = 22;

export function startHostnames(deps: HostnamesDeps): Loop {
  const { clock, log, caddy } = deps;
  const sources = { online: new OnlineInstances(deps), addresses: new HostAddresses(deps) };
  const publisher = new CaddySync({
    clock,
    log,
    admin: createCaddyAdmin(caddy.address),
    settings: async () => ({ ...caddy, certificateMark: await hashCertificateFile(caddy.certificateFile) }),
    names: () => readHostnameRoutes(sources, deps.domain),
  });
  void warnIfCertificateMismatch(deps);
  return startLoop(
    { name: 'serve names', clock, log, idleMs: POLL_EVERY_MS, maxBackoffMs: LONGEST_BACKOFF_MS },
    async (signal) => {
      await publisher.publish(signal);
      return 'idle';
    },
  );
}

/** All hostnames that must work now. */
export async function readHostnameRoutes(
  { online, addresses }: { readonly online: OnlineInstances; readonly addresses: HostAddresses },
  domain: string,
): Promise<HostnameRoute[]> {
  const instances = await online.read();
  const reached = await addresses.of(instances);
  return instances.flatMap(({ name: instanceName, ports }, index) => {
    const address = reached[index];
    if (address === null || address === undefined) return [];
    return ports.flatMap(({ internalPort, externalPort, protocol }) => {
      if (internalPort === SSH_PORT || protocol !== 'tcp') return [];
      const name = instanceHostname(domain, instanceName, internalPort);
      return name === null ? [] : [{ name, address, port: externalPort }];
    });
  });
}

/** Null if the file is not on this machine; Caddy then reads a renewed certificate at its next start. */
async function hashCertificateFile(file: string): Promise<string | null> {
  const content = await readFile(file).catch(() => null);
  return content === null ? null : createHash('sha256').update(content).digest('hex');
}

async function warnIfCertificateMismatch({ log, domain, caddy }: HostnamesDeps): Promise<void> {
  const content = await readFile(caddy.certificateFile).catch(() => null);
  if (content === null) return;
  try {
    if (new X509Certificate(content).checkHost(`port-instance.${domain}`) !== undefined) return;
    log.warn({ domain }, 'Caddy certificate does not cover the names below the domain');
  } catch (error) {
    log.warn({ err: error }, 'Caddy certificate cannot be read');
  }
}
