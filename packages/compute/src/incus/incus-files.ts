import { isDriverError } from '../driver-error.ts';
import type { MachineRef, MachineSpec } from '../driver.ts';
import { isScript } from './cloud-init.ts';
import { metadataSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import { instanceLocation } from './incus-instances.ts';

const passwdBytes = 1_048_576;
const maxUnixId = 4_294_967_294;

export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

const rootAccount: Account = { uid: 0, gid: 0, home: '/root' };

/** The tenant may have written /etc/passwd, so invalid entries count as missing. */
export function accountIn(passwd: string, user: string): Account | null {
  for (const line of passwd.split('\n')) {
    const [name, , uidText, gidText, , home = ''] = line.split(':');
    if (name !== user) continue;
    const [uid, gid] = [Number(uidText), Number(gidText)];
    const isSound = [uid, gid].every((id) => Number.isInteger(id) && id >= 0 && id <= maxUnixId);
    if (isSound && /^\/[^\0]{0,255}$/.test(home)) return { uid, gid, home: home.replace(/(?<!\/)\/+$/, '') };
  }
  return null;
}

/** Properties of an image, the same in every machine that has not run yet. */
interface ImageInfo {
  /** Template from which Incus writes the host name at the first start, if any. */
  readonly hostnameTemplate: string | null;
  /** Null if the image has no such user. */
  readonly account: Account | null;
}

/** More than any cluster uses; evicted entries are read again. */
const maxCachedImages = 1_000;

/**
 * Writes files into a container from outside. Paths are resolved inside the container, so a tenant's symbolic link only leads to
 * the tenant's own files. Incus refuses writes while it starts a container, so calls wait.
 */
export class IncusFiles {
  readonly #client: IncusClient;
  readonly #images = new Map<string, ImageInfo>();

  constructor(client: IncusClient) {
    this.#client = client;
  }

  /** Everything a machine needs before its first start. */
  async prepare(spec: MachineSpec, sshUser: string, fingerprint: string, signal: AbortSignal): Promise<void> {
    const { account, hostnameTemplate } = await this.#factsOf(spec, sshUser, fingerprint, signal);
    await Promise.all([
      this.#setHostname(spec, hostnameTemplate, signal),
      this.#putKeys(spec, spec.sshKeys, account ?? rootAccount, signal),
      this.#writeHostKey(spec, signal),
      this.#writeScript(spec, signal),
    ]);
  }

  /** Replaces the keys of this user, or of root if the image has no such user. */
  async writeKeys(
    ref: MachineRef,
    keys: readonly string[],
    user: string,
    signal: AbortSignal,
  ): Promise<void> {
    const account = await this.#account(ref, user, signal);
    await this.#putKeys(ref, keys, account ?? rootAccount, signal);
  }

  async #putKeys(
    ref: MachineRef,
    keys: readonly string[],
    account: Account,
    signal: AbortSignal,
  ): Promise<void> {
    const text = keys.map((key) => `${key.trim()}\n`).join('');
    const folder = `${account.home}/.ssh`;
    await this.#folder(ref, folder, { ...account, mode: '0700' }, signal);
    await this.#file(ref, `${folder}/authorized_keys`, text, { ...account, mode: '0600' }, signal);
  }

  async #writeHostKey(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { hostKey } = spec;
    if (hostKey === undefined) return;
    const file = '/etc/ssh/ssh_host_ed25519_key';
    await this.#folder(spec, '/etc/ssh', { ...rootAccount, mode: '0755' }, signal);
    await Promise.all([
      this.#file(spec, file, hostKey.privateKey, { ...rootAccount, mode: '0600' }, signal),
      this.#file(spec, `${file}.pub`, `${hostKey.publicKey}\n`, { ...rootAccount, mode: '0644' }, signal),
    ]);
  }

  async #writeScript(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const { userData } = spec;
    if (!isScript(userData)) return;
    const [folder, file] = ['/etc/millrace', '/etc/millrace/firstboot'];
    await this.#folder(spec, folder, { ...rootAccount, mode: '0755' }, signal);
    await this.#file(spec, file, userData, { ...rootAccount, mode: '0700' }, signal);
  }

  async #factsOf(ref: MachineRef, sshUser: string, image: string, signal: AbortSignal): Promise<ImageInfo> {
    const known = this.#images.get(image);
    if (known !== undefined) return known;
    const [hostnameTemplate, account] = await Promise.all([
      this.#hostnameTemplate(ref, signal),
      this.#account(ref, sshUser, signal),
    ]);
    if (this.#images.size >= maxCachedImages) this.#images.clear();
    this.#images.set(image, { hostnameTemplate, account });
    return { hostnameTemplate, account };
  }

  async #hostnameTemplate(ref: MachineRef, signal: AbortSignal): Promise<string | null> {
    const { path, query } = instanceLocation(this.#client, ref);
    const request = { what: 'read the templates', path: `${path}/metadata`, query };
    const { templates } = await this.#client.read(request, metadataSchema, signal);
    return templates?.['/etc/hostname']?.template ?? null;
  }

  /**
   * Incus writes the instance name into the machine at its first start from a template of the image. This changes the instance's
   * template; an image without one gets the file itself.
   */
  async #setHostname(spec: MachineSpec, template: string | null, signal: AbortSignal): Promise<void> {
    const text = `${spec.hostname}\n`;
    if (template === null) {
      await this.#file(spec, '/etc/hostname', text, { ...rootAccount, mode: '0644' }, signal);
      return;
    }
    const { path, query } = instanceLocation(this.#client, spec);
    const target = { what: 'set the host name', path: `${path}/metadata/templates` };
    const bytes = Buffer.from(text);
    await this.#client.pushBytes({ ...target, query: { ...query, path: template }, bytes }, signal);
  }

  async #account(ref: MachineRef, user: string, signal: AbortSignal): Promise<Account | null> {
    if (user === 'root') return rootAccount;
    const { path, query } = instanceLocation(this.#client, ref);
    try {
      const { body } = await this.#client.readBytes(
        {
          what: 'read the users of the machine',
          path: `${path}/files`,
          query: { ...query, path: '/etc/passwd' },
          maxBytes: passwdBytes,
        },
        signal,
      );
      return accountIn(body.toString('utf8'), user);
    } catch (error) {
      if (isDriverError(error, 'not_found')) return null;
      throw error;
    }
  }

  async #folder(ref: MachineRef, path: string, owner: FileOwner, signal: AbortSignal): Promise<void> {
    try {
      await this.#push(ref, path, { ...headersOf(owner), 'x-incus-type': 'directory' }, undefined, signal);
    } catch (error) {
      // Incus checks before it creates the folder, so one of two concurrent calls fails with this error.
      if (!isDriverError(error) || !/file exists/i.test(error.message)) throw error;
    }
  }

  async #file(
    ref: MachineRef,
    path: string,
    text: string,
    owner: FileOwner,
    signal: AbortSignal,
  ): Promise<void> {
    const headers = { ...headersOf(owner), 'x-incus-type': 'file', 'x-incus-write': 'overwrite' };
    await this.#push(ref, path, headers, Buffer.from(text), signal);
  }

  async #push(
    ref: MachineRef,
    target: string,
    headers: Readonly<Record<string, string>>,
    bytes: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { path, query } = instanceLocation(this.#client, ref);
    await this.#client.pushBytes(
      {
        what: `write ${target}`,
        path: `${path}/files`,
        query: { ...query, path: target },
        headers,
        ...(bytes !== undefined && { bytes }),
      },
      signal,
    );
  }
}

interface FileOwner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: string;
}

function headersOf({ uid, gid, mode }: FileOwner): Readonly<Record<string, string>> {
  return { 'x-incus-uid': String(uid), 'x-incus-gid': String(gid), 'x-incus-mode': mode };
}
