/** Explains why a page is not shown. In test mode the user's live permissions are unknown, so none is named. */
export function accessDeniedText(page: {
  readonly isTest: boolean;
  /** Names the users of the page and how to become one. */
  readonly who: string;
  readonly role: string;
  readonly organisation: string;
  readonly scope: string;
}): readonly string[] {
  if (page.isTest) {
    return ['You are in test mode, and this page has no test data. Switch to live mode to open it.'];
  }
  return [page.who, `You are ${page.role} of ${page.organisation}. Missing permission: ${page.scope}.`];
}
