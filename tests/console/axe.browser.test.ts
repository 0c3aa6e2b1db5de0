import { describePages } from './every-page.ts';
import { pages } from './pages.ts';

describePages(pages);
