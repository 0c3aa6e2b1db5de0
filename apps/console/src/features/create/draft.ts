import type { Input } from '@millrace/sdk';
import { parseUsd, parseDuration } from '@millrace/sdk/text';
import type { RentalSpec } from '../catalog/selection.ts';

/** What somebody has typed beside the picks, as text, and what the service is sent of it. */

export type VirtualMachineRequest = Input<'createVirtualMachineRental'>;
export type BareMetalRequest = Input<'createBareMetalRental'>;

export type CreateRequest =
  | { readonly type: 'virtual-machine'; readonly body: VirtualMachineRequest }
  | { readonly type: 'bare-metal'; readonly body: BareMetalRequest };

export type VolumeChoice = 'none' | 'existing' | 'new';

export interface Draft {
  readonly name: string;
  /** Null: all keys that the person has. */
  readonly sshKeyIds: readonly string[] | null;
  readonly image: string;
  readonly cuda: '' | NonNullable<BareMetalRequest['cudaVersion']>;
  readonly volume: VolumeChoice;
  readonly volumeId: number | null;
  readonly volumeLabel: string;
  readonly volumeGb: string;
  readonly ttl: string;
  readonly maxUsd: string;
  readonly idleAfter: string;
  readonly idleAction: 'stop' | 'terminate';
  /** A line each: `team=vision`. */
  readonly tags: string;
  readonly ports: string;
  readonly userData: string;
  readonly monitoring: boolean;
  /** After a reserved term: on by the hour, or over. */
  readonly convert: boolean;
}

export function newDraft(name: string): Draft {
  return {
    name,
    sshKeyIds: null,
    image: '',
    cuda: '',
    volume: 'none',
    volumeId: null,
    volumeLabel: `${name}-data`,
    volumeGb: '256',
    ttl: '',
    maxUsd: '',
    idleAfter: '',
    idleAction: 'stop',
    tags: '',
    ports: '',
    userData: '',
    monitoring: false,
    convert: true,
  };
}

export type Field = keyof Draft;
export type Issues = Partial<Readonly<Record<Field, string>>>;

/** What of a draft cannot be sent, field by field, and what is sent of the rest. */
export interface ParsedDraft {
  readonly issues: Issues;
  readonly order: CreateRequest;
  /** The time to live, for the price of it. */
  readonly ttlSeconds: number | null;
  /** The size of a volume that is made along with it. */
  readonly newVolumeGb: number | null;
  readonly maxNanoUsd: bigint | null;
}

/** A value, or what is wrong with the text that it should have come from. */
type ParsedField<Value> =
  | { readonly value: Value; readonly issue?: undefined }
  | { readonly value: null; readonly issue: string };

const MIN_TTL_SECONDS = 60;
const MIN_IDLE_SECONDS = 300;
const MAX_SECONDS = 315_360_000;
const MAX_IDLE_SECONDS = 31_536_000;

function parseDurationField(
  text: string,
  least: number,
  most: number,
  leastWords: string,
): ParsedField<number | null> {
  if (text.trim() === '') return { value: null };
  const seconds = parseDuration(text);
  if (seconds === null) return { value: null, issue: 'Write a span of time such as 90m, 8h or 3d.' };
  if (seconds < least) return { value: null, issue: `At least ${leastWords}.` };
  return seconds > most ? { value: null, issue: 'That is too long.' } : { value: seconds };
}

function parseAmount(text: string): ParsedField<bigint | null> {
  if (text.trim() === '') return { value: null };
  const nano = parseUsd(text);
  return nano === null || nano <= 0n
    ? { value: null, issue: 'Write an amount in dollars such as 20 or 12.50.' }
    : { value: nano };
}

const tagName = /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,62}$/;
const MAX_TAGS = 50;

export function parseTagsField(text: string): ParsedField<Readonly<Record<string, string>>> {
  const tags: Record<string, string> = {};
  for (const line of text
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '')) {
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(0, at)).trim();
    const value = line.slice(at + 1).trim();
    if (!tagName.test(name))
      return { value: null, issue: `"${line}" is no tag. Write one on each line: team=vision.` };
    if (value.length > 255)
      return { value: null, issue: `The value of ${name} has more than 255 characters.` };
    if (Object.hasOwn(tags, name)) return { value: null, issue: `${name} is there twice.` };
    tags[name] = value;
  }
  return Object.keys(tags).length > MAX_TAGS
    ? { value: null, issue: `At most ${String(MAX_TAGS)} tags.` }
    : { value: tags };
}

const MAX_PORTS = 20;

export function parsePorts(text: string): ParsedField<readonly number[]> {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const ports = words.map((word) => (/^\d{1,5}$/.test(word) ? Number(word) : 0));
  const wrong = words[ports.findIndex((port) => port < 1 || port > 65_535)];
  if (wrong !== undefined)
    return { value: null, issue: `"${wrong}" is no port: a port is a number from 1 to 65535.` };
  return ports.length > MAX_PORTS
    ? { value: null, issue: `At most ${String(MAX_PORTS)} ports.` }
    : { value: [...new Set(ports)] };
}

const MAX_USER_DATA_CHARACTERS = 65_536;

function userDataIssue(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  if (text.length > MAX_USER_DATA_CHARACTERS) return 'It has more than 65,536 characters.';
  return text.startsWith('#!') || /^#cloud-config\s/.test(text)
    ? undefined
    : 'It begins with #! (a program, which runs once as root) or with a line #cloud-config.';
}

function nameIssue(name: string): string | undefined {
  if (name.trim() === '') return 'Give it a name.';
  return name.trim().length > 255 ? 'At most 255 characters.' : undefined;
}

const MIN_VOLUME_GB = 256;
const MAX_VOLUME_GB = 64_000;
const volumeLabel = /^[A-Za-z0-9_-]{4,255}$/;

interface Volume {
  readonly issues: Issues;
  readonly storage: BareMetalRequest['storageVolume'];
}

function parseVolume(draft: Draft): Volume {
  if (draft.volume === 'none') return { issues: {}, storage: undefined };
  if (draft.volume === 'existing') {
    return draft.volumeId === null
      ? { issues: { volumeId: 'Choose a volume.' }, storage: undefined }
      : { issues: {}, storage: { isNew: false, id: draft.volumeId } };
  }
  const sizeInGb = /^\d{1,5}$/.test(draft.volumeGb.trim()) ? Number(draft.volumeGb) : 0;
  const isSize = sizeInGb >= MIN_VOLUME_GB && sizeInGb <= MAX_VOLUME_GB;
  const issues: Issues = {
    ...(!volumeLabel.test(draft.volumeLabel) && {
      volumeLabel: 'At least four letters, digits, underscores or hyphens.',
    }),
    ...(!isSize && { volumeGb: 'A whole number from 256 to 64,000.' }),
  };
  return { issues, storage: { isNew: true, label: draft.volumeLabel, sizeInGb } };
}

function issue(field: Field, text: string | undefined): Issues {
  return text === undefined ? {} : { [field]: text };
}

/** Dollars of an amount that was typed as such: the number nearest to it, which the service reads as the amount again. */
function nanoToDollars(nano: bigint): number {
  const digits = nano.toString().padStart(10, '0');
  return Number(`${digits.slice(0, -9)}.${digits.slice(-9)}`);
}

/** Why the choice cannot have an idle rule; null where it can, or where the service has not said yet. */
export function idleRuleDisabledReason(
  { type }: Pick<RentalSpec, 'type'>,
  idleRules: boolean | undefined,
): string | null {
  if (type === 'bare-metal') return 'Idle rules are not available for bare metal: its use is not measured.';
  if (idleRules !== false) return null;
  return 'Idle rules are not available here: these machines do not report how busy their GPUs are. To bound the cost, set a time to live or a cost limit.';
}

/** A rule that was entered for another choice is refused rather than dropped: the person relies on it. */
export function idleRuleIssues({ idleAfter }: Pick<Draft, 'idleAfter'>, problem: string | null): Issues {
  return problem === null || idleAfter.trim() === ''
    ? {}
    : { idleAfter: 'Not available here. Clear the field.' };
}

export function parseDraft(draft: Draft, spec: RentalSpec): ParsedDraft {
  const isMetal = spec.type === 'bare-metal';
  const ttl = parseDurationField(draft.ttl, MIN_TTL_SECONDS, MAX_SECONDS, 'a minute');
  const idle = isMetal
    ? { value: null, issue: undefined }
    : parseDurationField(draft.idleAfter, MIN_IDLE_SECONDS, MAX_IDLE_SECONDS, 'five minutes');
  const most = parseAmount(draft.maxUsd);
  const tags = parseTagsField(draft.tags);
  const ports = isMetal ? { value: [] } : parsePorts(draft.ports);
  const volume = isMetal ? parseVolume(draft) : { issues: {}, storage: undefined };
  const image = draft.image.trim();
  const common = {
    name: draft.name.trim(),
    gpuCount: spec.count,
    gpuType: spec.gpu,
    networkType: spec.network,
    ...(draft.sshKeyIds !== null && { sshKeyIds: [...draft.sshKeyIds] }),
    ...(spec.days !== null && {
      termType: 'reserved' as const,
      termPeriodDays: spec.days,
      convertToOnDemandOnExpiry: draft.convert,
    }),
    ...(image !== '' && { image }),
    ...(ttl.value !== null && { ttlSeconds: ttl.value }),
    ...(most.value !== null && { maxUsd: nanoToDollars(most.value) }),
    ...(idle.value !== null && { idle: { afterSeconds: idle.value, action: draft.idleAction } }),
    ...(tags.value !== null && Object.keys(tags.value).length > 0 && { tags: tags.value }),
    ...(draft.userData.trim() !== '' && { userData: draft.userData }),
    ...(draft.monitoring && { monitoringEnabled: true }),
  };
  const order: CreateRequest = isMetal
    ? {
        type: 'bare-metal',
        body: {
          ...common,
          region: spec.region as BareMetalRequest['region'],
          ...(draft.cuda !== '' && { cudaVersion: draft.cuda }),
          ...(volume.storage !== undefined && { storageVolume: volume.storage }),
        },
      }
    : {
        type: 'virtual-machine',
        body: {
          ...common,
          region: spec.region as VirtualMachineRequest['region'],
          ...(ports.value !== null && ports.value.length > 0 && { customPorts: [...ports.value] }),
        },
      };
  return {
    issues: {
      ...issue('name', nameIssue(draft.name)),
      ...issue('ttl', ttl.issue),
      ...issue('maxUsd', most.issue),
      ...issue('idleAfter', idle.issue),
      ...issue('tags', tags.issue),
      ...issue('ports', 'issue' in ports ? ports.issue : undefined),
      ...issue('userData', userDataIssue(draft.userData)),
      ...volume.issues,
    },
    order,
    ttlSeconds: ttl.value,
    newVolumeGb: volume.storage?.isNew === true ? volume.storage.sizeInGb : null,
    maxNanoUsd: most.value,
  };
}
