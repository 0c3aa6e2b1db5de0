import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** Chromium for tests. Any unexpected console error, exception, policy violation or failed request fails the test. */

export type ColorScheme = 'light' | 'dark';

export const desktopViewport = { width: 1280, height: 800 } as const;
/** Narrowest supported screen. */
export const mobileViewport = { width: 360, height: 740 } as const;
/** Screens of the checks and screenshots: laptop, tablet, phone. */
export const viewports = [
  desktopViewport,
  { width: 768, height: 1024 },
  { width: 390, height: 844 },
] as const;

export interface TabOptions {
  readonly url: string;
  readonly colorScheme?: ColorScheme;
  readonly viewport?: { readonly width: number; readonly height: number };
  /** From `TabSession.session()`. */
  readonly session?: StorageState;
  /** Errors that are not failures. */
  readonly expected?: readonly RegExp[];
  /** False for measurements: interception of requests adds time to each. Without it, sign-in attempts share one rate limit. */
  readonly canIntercept?: boolean;
}

export type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

export interface TabSession {
  readonly page: Page;
  readonly context: BrowserContext;
  expect(fault: RegExp): void;
  /** Opens a console page by its path below /console. */
  goto(path: string): Promise<void>;
  session(): Promise<StorageState>;
}

export interface TestBrowser extends AsyncDisposable {
  /** Runs `work` in a tab with its own cookies. Failures are stored in `.millrace/console-failures`. */
  withTab<T>(options: TabOptions, work: (tab: TabSession) => Promise<T>): Promise<T>;
}

const root = path.join(import.meta.dirname, '..', '..');
const failures = path.join(root, '.millrace', 'console-failures');
const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const flags = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];
/** Long, because tests share two cores. */
const ACTION_TIMEOUT_MS = 300_000;

/** Random address, so that rate limits of tests do not interfere. */
export function randomClientIp(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

export async function openBrowser(): Promise<TestBrowser> {
  const executablePath = programs.find((program) => existsSync(program));
  if (executablePath === undefined) {
    throw new Error('Chromium is not installed. Run: apt-get install chromium fonts-dejavu-core');
  }
  const browser = await chromium.launch({ executablePath, args: flags, timeout: ACTION_TIMEOUT_MS });
  return {
    withTab: (options, work) => withTab(browser, options, work),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function withTab<T>(
  browser: Browser,
  options: TabOptions,
  work: (tab: TabSession) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext({
    baseURL: options.url,
    colorScheme: options.colorScheme ?? 'light',
    viewport: options.viewport ?? desktopViewport,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    ...(options.session === undefined ? {} : { storageState: options.session }),
  });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  // Sign-in attempts are counted per address. Gateways reject this header in CORS, so only /auth gets it.
  const address = randomClientIp();
  if (options.canIntercept !== false) {
    await context.route(`${options.url}/auth/**`, (route) =>
      route.continue({ headers: { ...route.request().headers(), 'x-forwarded-for': address } }),
    );
  }
  const expected = [...(options.expected ?? [])];
  const errors = watch(context);
  const page = await context.newPage();
  try {
    const result = await work({
      page,
      context,
      expect: (pattern) => void expected.push(pattern),
      goto: async (where) => {
        await page.goto(`/console${where}`);
      },
      session: () => context.storageState(),
    });
    const unexpected = errors.filter((error) => !expected.some((each) => each.test(error)));
    expect(unexpected, 'errors in the browser').toEqual([]);
    return result;
  } catch (error) {
    await keepFailure(context, errors);
    throw error;
  } finally {
    await context.close();
  }
}

function watch(context: BrowserContext): string[] {
  const errors: string[] = [];
  context.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    // The response handler reports it with its URL.
    if (message.text().startsWith('Failed to load resource:')) return;
    errors.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => errors.push(`thrown: ${error.error().stack ?? error.error().message}`));
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // Leaving a page aborts requests, and new network interfaces reset connections; the console retries.
    if (why === 'net::ERR_ABORTED' || why === 'net::ERR_NETWORK_CHANGED') return;
    errors.push(`request failed: ${request.method()} ${request.url()} ${why}`);
  });
  context.on('response', (response) => {
    if (response.status() < 400) return;
    errors.push(`refused: ${response.request().method()} ${response.url()} ${response.status()}`);
  });
  return errors;
}

/** Stores screenshot, accessibility tree and errors of a failed test. */
async function keepFailure(context: BrowserContext, errors: readonly string[]): Promise<void> {
  mkdirSync(failures, { recursive: true });
  const test = (expect.getState().currentTestName ?? 'unnamed').replaceAll(/[^\w]+/g, '-').slice(0, 120);
  for (const [index, page] of context.pages().entries()) {
    const file = path.join(failures, `${test}-${index}`);
    await page.screenshot({ path: `${file}.png`, fullPage: true }).catch(() => undefined);
    const body = await page
      .locator('body')
      .ariaSnapshot()
      .catch((error: unknown) => String(error));
    writeFileSync(`${file}.txt`, [page.url(), ...errors, '', body, ''].join('\n'));
  }
}
