import { join } from 'node:path';
import { haproxyFile, natsCommand, restateCommand } from '@millrace/services';
import { startCommand, type TestProcess } from './processes.ts';

export type InstalledEngineName = 'nats' | 'valkey' | 'restate' | 'proxy';

/** Starts one engine with the configuration that `millrace-admin init` wrote into a folder, as its unit of systemd does. */
export function startInstalledEngine(
  name: InstalledEngineName,
  folder: string,
  options: { readonly readyUrl?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<TestProcess> {
  const { env = {}, readyUrl } = options;
  const common = { name, folder, env: { PATH: process.env['PATH'] ?? '', ...env } };
  return startCommand({
    ...common,
    ...commandOf(name, folder),
    ...(readyUrl === undefined ? {} : { readyUrl }),
  });
}

const proxyConfiguration = join(import.meta.dirname, '../../../../deploy/proxy/haproxy.cfg');

function commandOf(name: InstalledEngineName, folder: string): { file: string; args: readonly string[] } {
  switch (name) {
    case 'nats':
      return natsCommand(join(folder, 'nats/nats.conf'));
    case 'valkey':
      return { file: 'valkey-server', args: [join(folder, 'valkey/valkey.conf')] };
    case 'restate':
      return restateCommand(join(folder, 'restate/restate.toml'));
    case 'proxy':
      return { file: haproxyFile(), args: ['-db', '-f', proxyConfiguration] };
  }
}
