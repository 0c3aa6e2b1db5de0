import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { PublicStatus } from '@millrace/core/public-status';
import { createRouteServer } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveStatusPage } from '../../apps/api/src/status-page.ts';
import { expectAccessible, overflowOf } from './axe.ts';
import { desktopViewport, openBrowser, type TestBrowser } from './browser.ts';

// The public status page in a real browser. `apps/api/src/status-page.int.test.ts` tests the states with engines that fail.

/** `.millrace/console-shots`, beside those of `npm run console:shots`. */
const folder = path.join(import.meta.dirname, '..', '..', '.millrace', 'console-shots');

const at = '2026-05-01T10:00:00.000Z';
const component = (id: string, name: string, state: string, region: string | null = null) =>
  ({ component: id, name, region, state }) as PublicStatus['components'][number];

const fine: PublicStatus = {
  ...{ state: 'operational', title: 'All services work', incidents: [], maintenance: [], notice: null },
  ...{ checkedAt: at, completeCheckAt: at },
  components: [
    component('api', 'API and console', 'operational'),
    component('inference', 'Inference', 'operational'),
    component('rentals', 'Rentals', 'operational', 'us-central-1'),
    component('rentals', 'Rentals', 'operational', 'eu-north-1'),
    component('volumes', 'Volumes', 'operational'),
    component('billing', 'Billing', 'operational'),
  ],
};

const states: Readonly<Record<string, PublicStatus>> = {
  fine,
  broken: {
    ...fine,
    ...{ state: 'outage', title: 'Some services are not available' },
    components: [
      component('api', 'API and console', 'outage'),
      component('inference', 'Inference', 'degraded'),
      component('rentals', 'Rentals', 'maintenance', 'us-central-1'),
      component('rentals', 'Rentals', 'outage', 'a-region-with-a-long-name-in-the-north'),
      component('volumes', 'Volumes', 'unknown'),
      component('billing', 'Billing', 'operational'),
    ],
    incidents: [
      {
        title: 'The API and the console are not available',
        effect:
          'Running machines continue. Models respond for a short time with credit that is already granted.',
        since: '2026-05-01T09:41:10.000Z',
      },
      {
        title: 'Rentals in a-region-with-a-long-name-in-the-north cannot be changed',
        effect:
          'Running machines continue. They cannot be started, stopped or deleted, and new ones may fail.',
        since: '2026-05-01T09:58:20.000Z',
      },
    ],
    maintenance: [
      {
        regions: ['us-central-1'],
        startsAt: '2026-05-01T09:00:00.000Z',
        endsAt: '2026-05-01T11:00:00.000Z',
        inProgress: true,
      },
      {
        regions: ['eu-north-1'],
        startsAt: '2026-05-03T20:00:00.000Z',
        endsAt: '2026-05-03T22:30:00.000Z',
        inProgress: false,
      },
    ],
    notice:
      'A switch failed in our north data centre. We are replacing it and expect to finish by 11:00 UTC.\n\nYou do not have to do anything.',
    completeCheckAt: '2026-05-01T09:41:00.000Z',
  },
};

let current = fine;
const server = createRouteServer({ authenticate: () => Promise.reject(new Error('No key is needed.')) });
serveStatusPage(server, { status: { current: () => current }, name: 'Mill Cloud', hasConsole: true });
let url: string;
let browser: TestBrowser;

beforeAll(async () => {
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await server.close();
});

test.each(Object.entries(states))(
  'the status page is accessible and fits phones, in the state %s',
  async (name, state) => {
    current = state;
    mkdirSync(folder, { recursive: true });
    await browser.withTab({ url }, async ({ page }) => {
      await page.goto('/status');
      expect(await page.title()).toBe(`${state.title} · Status of Mill Cloud`);
      await expectAccessible(page);
      expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toContain('Services');
      for (const viewport of [desktopViewport, { width: 390, height: 844 }]) {
        expect(await overflowOf(page, viewport)).toEqual([]);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const file = `status-${name}-${colorScheme}-${viewport.width}.png`;
          await page.screenshot({ path: path.join(folder, file), fullPage: true });
        }
      }
    });
  },
);
