import type { Locator, Page } from 'playwright-core';

/** Steps that open a dialog or menu of the current page. */

type Step = (page: Page) => Promise<void>;
type Name = string | RegExp;

/** Waits for the dialog with this title. Toasts are dialogs too, so a title is needed wherever one can be open. */
async function waitForDialog(page: Page, title?: Name): Promise<void> {
  const options = title === undefined ? {} : { name: title };
  const dialog = page.getByRole('dialog', options).or(page.getByRole('alertdialog', options));
  await dialog.first().waitFor();
}

/** Presses the first enabled button of this name, on the page or in a part of it, and waits for its dialog. */
export const press =
  (name: Name, title: Name, part: (page: Page) => Page | Locator = (page) => page): Step =>
  async (page) => {
    // Exact, because "Edit" is also a part of "Edit Research".
    const exact = typeof name === 'string';
    await part(page)
      .getByRole('button', { name, exact })
      .and(page.locator(':not([aria-disabled=true])'))
      .first()
      .click();
    await waitForDialog(page, title);
  };

/** A part of the page for `press`. */
export const inTable =
  (name: RegExp) =>
  (page: Page): Locator =>
    page.getByRole('table', { name }).first();

export const pressKey =
  (key: string): Step =>
  async (page) => {
    await page.keyboard.press(key);
    await waitForDialog(page);
  };

export const openPalette =
  (text: string): Step =>
  async (page) => {
    await pressKey('Control+k')(page);
    await page.getByRole('combobox', { name: 'Search pages, actions and resources' }).fill(text);
    await page.getByText('Searching…').waitFor({ state: 'detached' });
  };

/** On narrow screens the account menu is part of the navigation, which a button opens. */
export const openAccountMenu: Step = async (page) => {
  const navigation = page.getByRole('button', { name: 'Open menu' });
  if (await navigation.isVisible()) await navigation.click();
  await page.getByRole('button', { name: /^Account and organisation/ }).click();
  await page.getByRole('menu').waitFor();
};

export const createKey: Step = async (page) => {
  await press('Create API key', 'New API key')(page);
  const form = page.getByRole('dialog', { name: 'New API key' });
  await form.getByRole('textbox', { name: 'Name', exact: true }).fill('screenshot');
  await form.getByRole('button', { name: 'Create key' }).click();
  await waitForDialog(page, 'API key screenshot');
};

export const rotateSecret: Step = async (page) => {
  await press('Rotate secret', 'Rotate signing secret')(page);
  const form = page.getByRole('dialog', { name: 'Rotate signing secret' });
  await form.getByRole('button', { name: 'Rotate', exact: true }).click();
  await waitForDialog(page, 'Signing secret');
};

export const writeOffVolume: Step = async (page) => {
  await page.getByLabel('Volume number').fill('1042');
  await press('Write off', 'Write off volume 1042')(page);
};

export const announceMaintenance: Step = async (page) => {
  await page
    .getByRole('checkbox', { name: /^node-/ })
    .first()
    .check();
  await press('Announce maintenance', /^Announce maintenance of/)(page);
};
