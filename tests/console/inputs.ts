import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * Uses a page with the mouse, or with the keyboard alone, and counts the actions of the user. An action is a press of a
 * button or link, a choice, a filled field, or an opened email link. A form counts as one action: its filled fields
 * together with the press that sends it. Moving the focus, reading and waiting are not counted.
 */
export interface UserInput {
  /** Presses a button or link. */
  press(control: Locator): Promise<void>;
  fill(field: Locator, text: string): Promise<void>;
  /** Chooses an option of a select field by its label. */
  choose(field: Locator, label: string): Promise<void>;
  /** Fills in text fields of one form and sends it. */
  send(fields: readonly (readonly [field: Locator, text: string])[], button: Locator): Promise<void>;
  /** Opens the link of an email, as email programs do: in a new tab. Continues there with the same count. */
  openEmailLink(url: string): Promise<{ readonly page: Page; readonly input: UserInput }>;
  actions(): number;
}

export const inputDevices = ['mouse', 'keyboard'] as const;
export type InputDevice = (typeof inputDevices)[number];

export function useInput(page: Page, device: InputDevice, counter = { actions: 0 }): UserInput {
  const { press, fill, choose } = device === 'mouse' ? mouseInput() : keyboardInput(page);
  const count = async (work: Promise<void>): Promise<void> => {
    counter.actions += 1;
    await work;
  };
  const send: UserInput['send'] = async (fields, button) => {
    for (const [field, text] of fields) await fill(field, text);
    await press(button);
  };
  return {
    press: (control) => count(press(control)),
    fill: (field, text) => count(fill(field, text)),
    choose: (field, label) => count(choose(field, label)),
    send: (fields, button) => count(send(fields, button)),
    openEmailLink: async (url) => {
      const tab = await page.context().newPage();
      await count(tab.goto(url).then(() => undefined));
      return { page: tab, input: useInput(tab, device, counter) };
    },
    actions: () => counter.actions,
  };
}

type Actions = Pick<UserInput, 'press' | 'fill' | 'choose'>;

function mouseInput(): Actions {
  return {
    press: (control) => control.click(),
    fill: (field, text) => field.fill(text),
    choose: async (field, label) => void (await field.selectOption({ label })),
  };
}

/** More than any page has. */
const FOCUSABLE_MAX = 150;

/** Tab, or inside of the tab list of a tab, the arrow key to the next tab. */
const keyTowards = (control: Locator): Promise<string> =>
  control.evaluate((element) => {
    const list = element.role === 'tab' ? element.closest('[role=tablist]') : null;
    return list?.contains(element.ownerDocument.activeElement) === true ? 'ArrowRight' : 'Tab';
  });

async function focusByTab(page: Page, control: Locator): Promise<void> {
  await control.waitFor();
  for (let moves = 0; moves < FOCUSABLE_MAX; moves += 1) {
    // Components may set the focus on an element inside of the control.
    if (await control.evaluate((element) => element.contains(element.ownerDocument.activeElement))) return;
    await page.keyboard.press(await keyTowards(control));
  }
  expect.fail(`The Tab key does not reach ${String(control)}.`);
}

/** Distance of the option from the chosen one in a select field; 0 if it is chosen. */
async function distance(field: Locator, label: string): Promise<number> {
  const labels = await field.locator('option').allTextContents();
  const chosen = (await field.locator('option:checked').textContent()) ?? '';
  return labels.indexOf(label) - labels.indexOf(chosen);
}

async function chooseByArrows(page: Page, field: Locator, label: string): Promise<void> {
  for (let presses = 0; presses < FOCUSABLE_MAX; presses += 1) {
    const missing = await distance(field, label);
    if (missing === 0) return;
    await page.keyboard.press(missing > 0 ? 'ArrowDown' : 'ArrowUp');
  }
  expect.fail(`The arrow keys do not choose ${label}.`);
}

function keyboardInput(page: Page): Actions {
  return {
    press: async (control) => {
      // Enter does nothing on a disabled button.
      await expect.poll(() => control.isEnabled(), { timeout: 300_000 }).toBe(true);
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
      await chooseByArrows(page, field, label);
    },
  };
}
