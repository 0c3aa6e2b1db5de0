function e(e,t){return[{id:`curl`,label:`curl`,code:i(e,t)},{id:`python`,label:`Python`,code:c(e,t)},{id:`javascript`,label:`JavaScript`,code:l(e,t)},{id:`cli`,label:`CLI`,code:u(e)}]}function t(e){switch(e.kind){case`chat`:{let{kind:t,...n}=e;return{...n,stream:!0}}case`image`:{let{model:t,prompt:n,size:r,n:i,steps:a,seed:o}=e;return{model:t,prompt:n,size:r,n:i,num_inference_steps:a,...o!==void 0&&{seed:o}}}case`speech`:{let{kind:t,...n}=e;return n}}}var n={chat:`/v1/chat/completions`,image:`/v1/images/generations`,speech:`/v1/audio/speech`};function r(e){return/^[\w@%+=:,./-]+$/.test(e)?e:`'${e.replaceAll(`'`,String.raw`'\''`)}'`}function i(e,{inferenceUrl:i}){let a=JSON.stringify(t(e),null,2).replaceAll(`'`,String.raw`'\''`);return[`curl ${e.kind===`chat`?`-N `:``}${r(`${i}${n[e.kind]}`)} \\`,`  -H "Authorization: Bearer $MILLRACE_API_KEY" \\`,`  -H 'Content-Type: application/json' \\`,...e.kind===`speech`?[`  -o speech.mp3 \\`]:[],`  -d '${a}'`].join(`
`)}var a=(e,t)=>e.replaceAll(`
`,`\n${t}`),o=e=>e===!0?`True`:a(JSON.stringify(e,null,4),`    `);function s(e){return Object.entries(e).map(([e,t])=>`    ${e}=${o(t)},`).join(`
`)}function c(e,{inferenceUrl:n}){let r=`client = OpenAI(
    base_url=${JSON.stringify(`${n}/v1`)},
    api_key=os.environ["MILLRACE_API_KEY"],
)`;switch(e.kind){case`chat`:return`import os

from openai import OpenAI

${r}

stream = client.chat.completions.create(
${s(t(e))}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
`;case`image`:{let{model:n,prompt:i,size:o,n:c,num_inference_steps:l,seed:u}=t(e),d={num_inference_steps:l,...u!==void 0&&{seed:u}};return`import base64
import os

from openai import OpenAI

${r}

images = client.images.generate(
${s({model:n,prompt:i,size:o,n:c})}
    extra_body=${a(JSON.stringify(d,null,4),`    `)},
)
for number, image in enumerate(images.data):
    with open(f"image-{number}.png", "wb") as file:
        file.write(base64.b64decode(image.b64_json))
`}case`speech`:return`import os

from openai import OpenAI

${r}

with client.audio.speech.with_streaming_response.create(
${s(t(e))}
) as response:
    response.stream_to_file("speech.mp3")
`}}function l(e,{apiUrl:n,inferenceUrl:r}){let i=JSON.stringify(t(e),null,2).replaceAll(/^( *)"(\w+)":/gm,`$1$2:`),a=(e=``)=>`${e}import { Millrace } from '@millrace/sdk';

const client = new Millrace({
  baseUrl: ${JSON.stringify(n)},
  inferenceUrl: ${JSON.stringify(r)},
  apiKey: process.env.MILLRACE_API_KEY,
});
`;switch(e.kind){case`chat`:return`${a()}
const stream = client.chat.create(${i});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
`;case`image`:return`${a(`import { writeFile } from 'node:fs/promises';
`)}
const { data } = await client.images.create(${i});
for (const [number, { b64_json }] of data.entries()) {
  await writeFile(\`image-\${number}.png\`, Buffer.from(b64_json, 'base64'));
}
`;case`speech`:return`${a(`import { writeFile } from 'node:fs/promises';
`)}
const speech = await client.audio.createSpeech(${i});
await writeFile('speech.mp3', speech);
`}}function u(e){let t=(e,t)=>t===void 0?[]:[`--${e} ${r(String(t))}`];switch(e.kind){case`chat`:{let n=e.messages.find(({role:e})=>e===`system`)?.content,i=e.messages.findLast(({role:e})=>e===`user`)?.content??``;return[`millrace chat`,...i===``?[]:[r(i)],...t(`model`,e.model),...t(`system`,n),...t(`temperature`,e.temperature),...t(`max-tokens`,e.max_tokens)].join(` `)}case`image`:return[`millrace image`,r(e.prompt),...t(`model`,e.model),...t(`size`,e.size),...t(`count`,e.n),...t(`steps`,e.steps),...t(`seed`,e.seed),`--file image.png`].join(` `);case`speech`:return[`millrace speech`,r(e.input),...t(`model`,e.model),...t(`voice`,e.voice),...t(`speed`,e.speed),`--file speech.mp3`].join(` `)}}export{r as n,e as t};