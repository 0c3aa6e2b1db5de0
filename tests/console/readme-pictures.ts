import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openTerminal } from '../e2e/terminal.ts';
import { openBrowser } from './browser.ts';
import { terminalSvg, type TerminalFrame } from './terminal-svg.ts';

/** `npm run readme:pictures`: the pictures of the README, from the demo that `npm run dev` runs in another terminal. */

const root = path.join(import.meta.dirname, '..', '..');
const folder = path.join(root, 'docs', 'images');

interface DevDemo {
  readonly apiUrl: string;
  readonly inferenceUrl: string;
  readonly email: string;
  readonly password: string;
  readonly liveKey: string;
}

const demo = JSON.parse(readFileSync(path.join(root, '.millrace', 'dev.json'), 'utf8')) as DevDemo;
mkdirSync(folder, { recursive: true });
await takeScreenshots();
await recordTerminal();

async function takeScreenshots(): Promise<void> {
  await using browser = await openBrowser();
  const url = demo.apiUrl;
  const viewport = { width: 1280, height: 860 };
  await browser.withTab({ url, viewport }, async ({ page, goto }) => {
    await goto('/sign-in');
    await page.getByLabel('Email').fill(demo.email);
    await page.getByLabel('Password', { exact: true }).fill(demo.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.getByText('train-7b').first().waitFor();
    // The last chart draws after its data.
    await page.waitForTimeout(1_500);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: path.join(folder, `overview-${colorScheme}.png`) });
    }
  });
}

/** From the offers to a prompt on a machine, with the times that the commands took. */
async function recordTerminal(): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'millrace-readme-'));
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, KEY: demo.liveKey };
  const terminal = await openTerminal({ folder: root, env });
  const frames: TerminalFrame[] = [];
  const record = async (line: string, expected: RegExp, seconds: number): Promise<void> => {
    await terminal.clear();
    await terminal.enter(line);
    const shown = await terminal.shows(expected, 120_000);
    const text = shown.replace(/^here> /, '$ ').replace(/\nhere>$/, '');
    frames.push({ text: `$ ${line}`, seconds: 1 }, { text, seconds });
  };
  try {
    await terminal.enter('millrace() { tools/run apps/cli/src/main.ts "$@"; }');
    await terminal.enter(`ssh-keygen -q -t ed25519 -N '' -f ${home}/key`);
    const urls = `--api-url ${demo.apiUrl} --inference-url ${demo.inferenceUrl}`;
    await terminal.run(`echo $KEY | millrace login ${urls} --key-stdin`, 60_000);
    await terminal.run(`millrace ssh-key add ${home}/key.pub --name demo`, 60_000);
    await record('millrace offers --gpu h100', /here>$/, 4);
    await record('millrace rental create --gpu h100 --name first --yes', /is running[\s\S]*here>$/, 5);
    await record(`millrace ssh first --identity ${home}/key -- hostname`, /\n\S+\nhere>$/, 4);
    await record('millrace rental terminate first --yes', /Terminated[\s\S]*here>$/, 5);
  } finally {
    await terminal.close();
    rmSync(home, { recursive: true, force: true });
  }
  const shown = frames.map(({ text, seconds }) => ({
    text: text.replaceAll(` --identity ${home}/key`, ''),
    seconds,
  }));
  writeFileSync(path.join(folder, 'rent.svg'), terminalSvg(shown));
}
