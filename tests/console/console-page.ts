import type { Page } from 'playwright-core';
import type { Seeded } from './seed.ts';

/** A page, a tab of it, or a dialog on it. */
export interface ConsolePage {
  /** Path in `routes.tsx`, from the root. */
  readonly route: string;
  /** Path with parameters; default: `route`. */
  readonly at?: (seeded: Seeded) => string;
  readonly who?: 'anyone' | 'newcomer' | 'owner';
  /** Rentals are in test mode, money in live mode. */
  readonly mode?: 'live' | 'test';
  /** Opens a dialog, for example. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Name of the screenshot, if a route is used twice. */
  readonly as?: string;
  /** True if other controls open it on other screens, so that it is opened again for each width. */
  readonly opensPerWidth?: true;
}

/** A dialog or menu, and the page that it opens on. */
export interface ConsoleDialog extends ConsolePage {
  readonly as: string;
  readonly prepare: (page: Page) => Promise<void>;
  /** File that shows it, below `apps/console/src`, without its ending. */
  readonly source: string;
}
