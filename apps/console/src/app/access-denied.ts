/** Why a page is not shown. In test mode nothing is known of the person's rights in live mode, so nothing is said of them. */
export function accessDeniedText(page: {
  readonly isTest: boolean;
  /** Whose page it is and how one becomes that. */
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
