import { exactDuration } from '@millrace/sdk/text';
import type { CreateRequest } from './draft.ts';
import type { RentalSpec } from '../catalog/selection.ts';

/** Builds the CLI command for the same order. */

export function quoteShellWord(text: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const flag = (name: string, value: string | number): string => `--${name} ${quoteShellWord(String(value))}`;

const durationText = (seconds: number): string => exactDuration(seconds).replaceAll(' ', '');

/** The CLI reads user data from a file, while the page has its text. */
export const USER_DATA_FILE = 'user-data.sh';

export function createCommand(
  { body, type }: CreateRequest,
  spec: RentalSpec,
  volumeLabel: string | null,
): string {
  const storage = 'storageVolume' in body ? body.storageVolume : undefined;
  const cuda = 'cudaVersion' in body ? body.cudaVersion : undefined;
  const ports = 'customPorts' in body ? (body.customPorts ?? []) : [];
  return [
    'millrace rental create',
    type === 'bare-metal' ? '--bare-metal' : '',
    flag('gpu', spec.gpu),
    flag('count', spec.count),
    flag('region', spec.region),
    flag('network', spec.network),
    spec.days === null ? '' : flag('days', spec.days),
    body.convertToOnDemandOnExpiry === false ? '--no-convert' : '',
    body.name === undefined ? '' : flag('name', body.name),
    ...(body.sshKeyIds ?? []).map((id) => flag('ssh-key', id)),
    body.image === undefined ? '' : flag('image', body.image),
    cuda === undefined ? '' : flag('cuda', cuda),
    storage?.isNew === false ? flag('volume', volumeLabel ?? storage.id) : '',
    storage?.isNew === true
      ? `${flag('new-volume', storage.label)} ${flag('storage-gb', storage.sizeInGb)}`
      : '',
    ...ports.map((port) => flag('port', port)),
    body.ttlSeconds === undefined ? '' : flag('ttl', durationText(body.ttlSeconds)),
    body.maxUsd === undefined ? '' : flag('max-usd', body.maxUsd),
    body.idle === undefined ? '' : flag('idle-after', durationText(body.idle.afterSeconds)),
    body.idle?.action === 'terminate' ? '--idle-terminate' : '',
    body.userData === undefined ? '' : flag('user-data', USER_DATA_FILE),
    ...Object.entries(body.tags ?? {}).map(([name, value]) => flag('tag', `${name}=${value}`)),
    body.monitoringEnabled === true ? '--monitoring' : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}
