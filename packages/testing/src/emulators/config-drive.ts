import { gunzipSync } from 'node:zlib';
import { readIso } from './iso9660.ts';

/** What a config drive tells the system that boots beside it. */
export interface ConfigDrive {
  readonly hostname: string | null;
  readonly sshKeys: readonly string[];
  readonly userData: string | null;
  readonly networkData: unknown;
}

/** From the form in which the engine hands it to the deploy agent: an image, compressed, in base64. */
export function readConfigDrive(text: string): ConfigDrive {
  const files = readIso(gunzipSync(Buffer.from(text, 'base64')));
  const read = (name: string): string | null =>
    files.get(`openstack/latest/${name}`)?.toString('utf8') ?? null;
  const metaData = JSON.parse(read('meta_data.json') ?? '{}') as {
    readonly hostname?: string;
    readonly public_keys?: Readonly<Record<string, string>>;
  };
  const networkData = read('network_data.json');
  return {
    hostname: metaData.hostname ?? null,
    sshKeys: Object.values(metaData.public_keys ?? {}).map((line) => line.trim()),
    userData: read('user_data'),
    networkData: networkData === null ? null : JSON.parse(networkData),
  };
}
