import type { Clock } from '@millrace/platform/clock';
import type { Finding } from './finding.ts';
import type { Installation } from './installation.ts';

export interface HttpRequest {
  readonly url: string;
  /** Accepted authorities in PEM; by default the public ones. */
  readonly ca?: string | readonly string[];
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  /** The name that the certificate must contain, if it is not the host of the URL. */
  readonly serverName?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** False accepts any name in the certificate. */
  readonly checkName?: false;
  /** Whether `ca` has the certificates of servers, which another authority may have issued. */
  readonly isPinned?: true;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** How a server begins TLS. */
export type TlsStart = 'direct' | 'postgres' | 'nats';

export interface ServedCertificate {
  readonly pem: string;
  /** Why a client with these authorities refuses it, such as UNABLE_TO_VERIFY_LEAF_SIGNATURE; null if it accepts it. */
  readonly rejection: string | null;
}

export interface UserIdentity {
  readonly uid: number;
  readonly gids: readonly number[];
}

export interface FreeSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Equal for two folders on one disk. */
  readonly device: number;
}

/** A file of a folder. */
export interface FoundFile {
  readonly name: string;
  readonly bytes: number;
  readonly modifiedMs: number;
}

/** A call on a network mount without its server does not return. */
export type Unresponsive = 'unresponsive';

/** Clock, HTTP, TLS, disks, users and programs, which tests replace. Logins to engines are real. */
export interface Effects {
  readonly clock: Clock;
  request(request: HttpRequest): Promise<HttpResponse>;
  servedCertificate(server: {
    readonly host: string;
    readonly port: number;
    readonly start: TlsStart;
    readonly ca: readonly string[] | null;
  }): Promise<ServedCertificate>;
  /** The first bytes that a server sends. */
  greeting(server: { readonly host: string; readonly port: number }): Promise<string>;
  /** Null if the folder does not exist. */
  freeSpace(folder: string): Promise<FreeSpace | Unresponsive | null>;
  /** The files `*.dump` of a folder; none if it does not exist. */
  dumpsIn(folder: string): Promise<readonly FoundFile[] | Unresponsive>;
  /** Whether the name or address is one of this machine. Null if the name has no address. */
  isThisMachine(host: string): Promise<boolean | null>;
  /** Null if the user does not exist. */
  identityOf(user: string): Promise<UserIdentity | null>;
  /** Runs a program of the machine; null if it does not exist. */
  run(
    file: string,
    args: readonly string[],
  ): Promise<{ readonly code: number; readonly output: string } | null>;
  /** Whether systemd runs on this machine. */
  hasSystemd(): boolean;
}

export interface CheckContext {
  readonly installation: Installation;
  readonly effects: Effects;
}

/** A group of checks of one component. */
export interface Check {
  readonly id: string;
  readonly title: string;
  run(context: CheckContext): Promise<readonly Finding[]>;
}
