import { contentSecurityPolicy, pageHead } from './page-policy.js';

const style = `
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}
body{max-width:60rem;margin:1.5rem auto;padding:0 1rem}
h2{margin:2rem 0 .3rem}
details{border:1px solid #8886;border-radius:6px;margin:.35rem 0;padding:.3rem .7rem}
summary{cursor:pointer}
code,textarea,pre,input{font:13px/1.45 ui-monospace,monospace}
b{display:inline-block;width:4.8rem}
summary small{margin-left:.8rem}
button{margin:.5rem 0}
textarea,pre{width:100%;box-sizing:border-box}
pre{background:#8882;padding:.6rem;border-radius:6px;max-height:26rem;overflow:auto;white-space:pre-wrap}
label{display:block;margin:.2rem 0}
main label{display:grid;grid-template-columns:12rem 1fr;gap:.6rem;align-items:center}
input{width:60%}
main input{width:100%;box-sizing:border-box}
small{opacity:.75}
@media(max-width:40rem){main label,summary small{display:block;margin-left:0}}
`;

/**
 * The script inserts texts only as text nodes and as properties of elements, so that no text of an answer becomes markup. It requests
 * addresses relative to that of the page, which may be below a path prefix.
 */
const script = `
const el=(tag,props,...kids)=>{const e=Object.assign(document.createElement(tag),props);e.append(...kids);return e};
const main=document.querySelector('main');
const token=document.querySelector('#token');
const tokenKey='strandlake-token';
try{token.value=localStorage.getItem(tokenKey)||''}catch{}
token.oninput=()=>{try{token.value?localStorage.setItem(tokenKey,token.value):localStorage.removeItem(tokenKey)}catch{}};
const markRequired=(name,required)=>required?name+' (required)':name;
const deref=(doc,s)=>s&&s.$ref?doc.components.schemas[s.$ref.split('/').pop()]:s;
fetch('openapi.json').then(r=>r.json()).then(doc=>{
  const tags=new Map();
  for(const [path,methods] of Object.entries(doc.paths))for(const [method,op] of Object.entries(methods)){
    if(op.deprecated)continue;
    const tag=op.tags[0];if(!tags.has(tag))tags.set(tag,[]);tags.get(tag).push([path,method,op]);
  }
  for(const [tag,list] of tags){main.append(el('h2',{textContent:tag}));for(const item of list)main.append(show(doc,...item))}
});
function show(doc,path,method,op){
  const inputs=op.parameters.map(p=>{const i=el('input',{placeholder:[p.description,p.example&&'Example: '+p.example].filter(Boolean).join(' ')});return {p,i,row:el('label',{},el('code',{textContent:markRequired(p.name,p.required)+' '}),i)}});
  const contents=op.requestBody?op.requestBody.content:{};
  const content=contents['application/json'];
  const file=contents['*/*']?el('input',{type:'file'}):null;
  const address=file?el('input',{placeholder:'the upload_url of a file object, instead of the parameters'}):null;
  const schema=deref(doc,content&&content.schema);
  const success=Object.entries(op.responses).find(([status])=>status!=='default')[1];
  const examples=Object.entries(success.content||{}).map(([type,{example}])=>type==='application/json'?JSON.stringify(example,null,2):example);
  const keys=schema&&schema.properties?Object.entries(schema.properties).map(([k,v])=>markRequired(k,(schema.required||[]).includes(k))+(v.description?': '+v.description:'')).join('\\n'):'';
  const body=schema?el('textarea',{rows:8,value:JSON.stringify(content.example,null,2)}):null;
  const out=el('pre',{hidden:true});
  const send=el('button',{textContent:'Send'});
  send.onclick=async()=>{
    let url='.'+path;const query=new URLSearchParams();
    const headers={Prefer:'handling=strict',...(token.value?{Authorization:'Bearer '+token.value}:{})};
    for(const {p,i} of inputs){
      if(p.in==='path')url=url.replace('{'+p.name+'}',encodeURIComponent(i.value));
      else if(i.value&&p.in==='header')headers[p.name]=i.value;
      else if(i.value)query.set(p.name,i.value);
    }
    if(String(query))url+='?'+query;
    if(address&&address.value){const signed=new URL(address.value);const target=signed.pathname+signed.search;url='.'+target.slice(Math.max(0,target.indexOf('/v2/uploads/')))}
    out.hidden=false;out.textContent='…';
    try{
      const r=await fetch(url,{method:method.toUpperCase(),headers,body:body?body.value:file?file.files[0]:undefined});
      const text=await r.text();let shown=text;try{shown=JSON.stringify(JSON.parse(text),null,2)}catch{}
      out.textContent=method.toUpperCase()+' '+url.slice(1)+'\\n'+r.status+' '+r.statusText+'\\n\\n'+shown.slice(0,200000);
    }catch(e){out.textContent=String(e)}
  };
  return el('details',{},el('summary',{},el('b',{textContent:method.toUpperCase()}),el('code',{textContent:path}),el('small',{textContent:op.summary})),
    ...inputs.map(x=>x.row),
    ...(body?[body,el('pre',{textContent:keys})]:[]),
    ...(file?[el('label',{},el('code',{textContent:'upload_url '}),address),el('label',{},el('code',{textContent:'file (required) '}),file)]:[]),send,out,
    ...(examples.length>0?[el('p',{},el('small',{textContent:'Example of the answer'})),...examples.map(textContent=>el('pre',{textContent}))]:[]));
}
`;

/**
 * The page that documents every operation, each with the first spelling of its path, and can send requests. It loads nothing but
 * openapi.json.
 */
export const docsPage = `${pageHead('Strandlake API')}<style>${style}</style>
<h1>Strandlake API</h1>
<p>Every operation, with examples that can be sent. The machine-readable form is <a href="openapi.json">openapi.json</a>.</p>
<label>Token <input id="token" type="password" autocomplete="off" placeholder="30 characters"> <small>kept in this browser until it is cleared here</small></label>
<main></main><script>${script}</script></html>
`;

/** The value of the header `Content-Security-Policy` for `docsPage`. */
export const docsPageCsp = contentSecurityPolicy({ script, style });
