import { gunzipSync } from 'node:zlib';
import { readIso } from './iso9660.ts';

/** The data that a config drive passes to the booted system. */
export interface ConfigDrive {
  readonly hostname: string | null;
  readonly sshKeys: readonly string[];
  readonly userData: string | null;
  readonly networkData: unknown;
  /** The private host key in the vendor data, where cloud-init reads it. */
  readonly hostKey: string | null;
}

/** Parses the form that the engine passes to the deploy agent: a compressed image in base64. */
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
    // Ironic writes `vendor_data` to the second of the two files that cloud-init reads.
    hostKey: hostKeyIn(read('vendor_data2.json')),
  };
}

/** cloud-init parses YAML; the platform writes its JSON subset. */
function hostKeyIn(vendorData: string | null): string | null {
  const sections = JSON.parse(vendorData ?? '{}') as { readonly 'cloud-init'?: string };
  const text = (sections['cloud-init'] ?? '').replace(/^#cloud-config\n/, '');
  if (text === '') return null;
  const config = JSON.parse(text) as { readonly ssh_keys?: { readonly ed25519_private?: string } };
  return config.ssh_keys?.ed25519_private ?? null;
}
