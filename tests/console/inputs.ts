import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** Uses a page with the mouse, or with the keyboard alone, and counts the actions of the user. */
export interface UserInput {
  /** Presses a button or link. */
  press(control: Locator): Promise<void>;
  fill(field: Locator, text: string): Promise<void>;
  /** Chooses an option of a select field by its label. */
  choose(field: Locator, label: string): Promise<void>;
  /** Presses, filled fields and choices so far. Moving the focus is not counted. */
  actions(): number;
}

export const inputDevices = ['mouse', 'keyboard'] as const;
export type InputDevice = (typeof inputDevices)[number];

export function useInput(page: Page, device: InputDevice): UserInput {
  const input = device === 'mouse' ? mouseInput() : keyboardInput(page);
  let count = 0;
  const counted =
    <Args extends readonly unknown[]>(run: (...args: Args) => Promise<void>) =>
    async (...args: Args): Promise<void> => {
      count += 1;
      await run(...args);
    };
  return {
    press: counted(input.press),
    fill: counted(input.fill),
    choose: counted(input.choose),
    actions: () => count,
  };
}

type Actions = Omit<UserInput, 'actions'>;

function mouseInput(): Actions {
  return {
    press: (control) => control.click(),
    fill: (field, text) => field.fill(text),
    choose: async (field, label) => void (await field.selectOption({ label })),
  };
}

/** More than any page has. */
const FOCUSABLE_MAX = 150;

async function focusByTab(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  for (let moves = 0; moves < FOCUSABLE_MAX; moves += 1) {
    // Components may set the focus on an element inside of the control.
    if (await control.evaluate((element) => element.contains(element.ownerDocument.activeElement))) return;
    await page.keyboard.press('Tab');
  }
  expect.fail(`The Tab key does not reach ${String(control)}.`);
}

function keyboardInput(page: Page): Actions {
  return {
    press: async (control) => {
      await focusByTab(page, control);
      await page.keyboard.press('Enter');
    },
    fill: async (field, text) => {
      await focusByTab(page, field);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    },
    choose: async (field, label) => {
      await focusByTab(page, field);
      await page.keyboard.type(label);
    },
  };
}
