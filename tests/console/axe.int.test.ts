import { describePages } from './every-page.ts';
import { pages } from './pages.ts';

// Pages are made of the same parts: each run looks at every tenth, and `npm run test:browser` at all of them.
describePages(pages.filter((_, nth) => nth % 10 === 0));
