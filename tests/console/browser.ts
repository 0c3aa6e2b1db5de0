import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * A real Chromium for tests of the console. Whatever goes wrong in a page that its test did not expect fails the test: an
 * error on the browser's console, a script that throws, a breach of the content policy, a request that fails.
 */

export type ColorScheme = 'light' | 'dark';

export const desktopViewport = { width: 1280, height: 800 } as const;
/** The narrowest screen that everything has to fit on. */
export const mobileViewport = { width: 360, height: 740 } as const;

export interface TabOptions {
  /** Where the api is that serves the console. */
  readonly url: string;
  readonly colorScheme?: ColorScheme;
  readonly viewport?: { readonly width: number; readonly height: number };
  /** A session that was begun before: what `Visit.session()` gave. */
  readonly session?: StorageState;
  /** What may go wrong: troubles that match are no failure. */
  readonly expected?: readonly RegExp[];
}

export type StorageState = Awaited<ReturnType<BrowserContext['storageState']>>;

export interface TabSession {
  readonly page: Page;
  readonly context: BrowserContext;
  /** From now on, a trouble that matches is no failure. */
  expect(fault: RegExp): void;
  /** Opens a page of the console, by its path below /console. */
  goto(path: string): Promise<void>;
  session(): Promise<StorageState>;
}

export interface TestBrowser extends AsyncDisposable {
  /** Opens a tab with cookies of its own, and closes it afterwards. What failed is kept in `.millrace/console-failures`. */
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
/** Longer than anything that a person would wait for, on two cores that do much else. */
const ACTION_TIMEOUT_MS = 60_000;

/** Where somebody may come from: as far as limits go, a machine of its own. */
export function randomClientIp(): string {
  return `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`;
}

export async function openBrowser(): Promise<TestBrowser> {
  const executablePath = programs.find((program) => existsSync(program));
  if (executablePath === undefined) {
    throw new Error('There is no Chromium on this machine. Run: apt-get install chromium fonts-dejavu-core');
  }
  const browser = await chromium.launch({ executablePath, args: flags });
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
  // Tries to sign in are counted by address. Only these name one: a gateway, which is of another origin, allows pages no such header.
  const address = randomClientIp();
  await context.route(`${options.url}/auth/**`, (route) =>
    route.continue({ headers: { ...route.request().headers(), 'x-forwarded-for': address } }),
  );
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
    expect(unexpected, 'what went wrong in the browser').toEqual([]);
    return result;
  } catch (error) {
    await keepFailure(context, errors);
    throw error;
  } finally {
    await context.close();
  }
}

/** Everything that goes wrong in any tab, as it happens. */
function watch(context: BrowserContext): string[] {
  const errors: string[] = [];
  context.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    // Told once by the response itself, with its address.
    if (message.text().startsWith('Failed to load resource:')) return;
    errors.push(`console ${message.type()}: ${message.text()} (${message.location().url})`);
  });
  context.on('weberror', (error) => errors.push(`thrown: ${error.error().stack ?? error.error().message}`));
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // A page that is left ends what it was still asking for.
    // And a browser gives up what is under way when this machine gets another network card, as it does for other tests: the
    // console asks again.
    if (why === 'net::ERR_ABORTED' || why === 'net::ERR_NETWORK_CHANGED') return;
    errors.push(`request failed: ${request.method()} ${request.url()} ${why}`);
  });
  context.on('response', (response) => {
    if (response.status() < 400) return;
    errors.push(`refused: ${response.request().method()} ${response.url()} ${response.status()}`);
  });
  return errors;
}

/** What a person would have seen, for whoever looks into a failed test. */
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
