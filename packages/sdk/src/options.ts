import type { Clock } from './clock.ts';

/** What a client is made with. */
export interface ClientOptions {
  /** Where the api is, such as `https://api.example.com`. From an environment that lacks it: refused when the client is made. */
  readonly baseUrl: string | undefined;
  /** Where the gateways of inference are, when they have an address of their own. */
  readonly inferenceUrl?: string | undefined;
  /** `mr_live_…` or `mr_test_…`. Left out, only what is open to everybody can be called. */
  readonly apiKey?: string | undefined;
  /**
   * A person who is signed in, in place of a key: in a page of the cloud itself, whose browser has the cookie. Each call is
   * for one organisation, in one mode; left out, only what is of the person alone can be called.
   */
  readonly session?: SessionOptions | undefined;
  /** The token of a session, for programs that a person signed in by `millrace login`. Goes with `session`. */
  readonly sessionToken?: string | undefined;
  /** How long one attempt may take: 60 s for the api and 600 s for inference unless told. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is sent again where that is safe; 2 unless told. */
  readonly maxRetries?: number | undefined;
  /** Headers for every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** What sends requests instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Whoever opens a page can read the keys in it, so a browser is refused unless this says that it is meant. */
  readonly allowBrowser?: boolean | undefined;
  /** Added to the User-Agent, such as `my-tool/1.2`. */
  readonly userAgent?: string | undefined;
  /** The clock for deadlines and waits. */
  readonly clock?: Clock | undefined;
  /** Spreads retries; numbers from 0 to 1. */
  readonly random?: (() => number) | undefined;
}

/** For whom a person who is signed in calls. */
export interface SessionOptions {
  /** `org_…` */
  readonly organisation?: string | undefined;
  /** `live` unless told. */
  readonly mode?: 'live' | 'test' | undefined;
}

/** What one call may ask for differently. */
export interface RequestOptions {
  readonly timeoutMs?: number | undefined;
  readonly maxRetries?: number | undefined;
  /**
   * Names the call, so that it happens once however often it is sent. Made for each call where the operation honours one;
   * give your own to be able to repeat a call after your program was restarted.
   */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}
